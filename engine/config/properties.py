"""Files of `key=value` lines: server.properties, and what clients are configured with.

Java reads a backslash as the beginning of an escape, librdkafka as a character like others. Java
takes the file for Latin-1, so what is not ASCII is written as the escapes of UTF-16.
"""

import re
from collections.abc import Mapping

_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n\s*")  # a line that ends with a backslash
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_CHARACTERS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


def parse_properties(text: str, *, escapes: bool) -> dict[str, str]:
    """What begins with # or ! is a comment."""
    if escapes:
        text = _CONTINUED.sub(r"\1", text)
    pairs = (line.partition("=") for line in map(str.strip, text.splitlines()))
    return {
        key.strip(): _unescaped(value.strip()) if escapes else value.strip()
        for key, _, value in pairs
        if key and not key.startswith(("#", "!"))
    }


def properties_text(values: Mapping[str, object], *, escapes: bool) -> str:
    lines = (f"{key}={_escaped(str(it)) if escapes else it}\n" for key, it in values.items())
    return "".join(lines)


def _unescaped(text: str) -> str:
    units = _ESCAPE.sub(_character, text)
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(escape: re.Match[str]) -> str:
    what = escape[1]
    return chr(int(what[1:], 16)) if len(what) > 1 else _CHARACTERS.get(what, what)


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return _NOT_ASCII.sub(_units, text)


def _units(character: re.Match[str]) -> str:
    both = character[0].encode("utf-16-be")
    return "".join(f"\\u{both[at : at + 2].hex()}" for at in range(0, len(both), 2))
