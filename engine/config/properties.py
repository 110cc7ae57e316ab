"""Files of `key=value` lines: server.properties, and what clients are configured with.

Java reads a backslash as the beginning of an escape, librdkafka as a character like others.
"""

import re
from collections.abc import Mapping

_ESCAPE = re.compile(r"\\(.)")


def parse_properties(text: str, *, escapes: bool) -> dict[str, str]:
    """What begins with # or ! is a comment."""
    pairs = (line.partition("=") for line in map(str.strip, text.splitlines()))
    return {
        key.strip(): _ESCAPE.sub(r"\1", value.strip()) if escapes else value.strip()
        for key, _, value in pairs
        if key and not key.startswith(("#", "!"))
    }


def properties_text(values: Mapping[str, str], *, escapes: bool) -> str:
    lines = (f"{key}={value}\n" for key, value in values.items())
    return "".join(line.replace("\\", "\\\\") if escapes else line for line in lines)
