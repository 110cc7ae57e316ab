"""The colours, light and dark, and the one style sheet of all pictures.

They are Okabe and Ito's, which colour-blind people can distinguish. A difference is never shown by
colour alone, but also by shape or text.

    blue   leader          amber      high watermark, the controller's crown
    sky    in sync         vermilion  faults
    grey   out of sync     green      alive               rose  traffic

A picture names looks ("leader", "card"); static/looks.css says what a look is, in these colours.
In a notebook, paper and ink are JupyterLab's own, so every theme works; a picture that stands
alone (`Scene.svg`) contains them and follows the reader's system.

Invariant: both themes have the same names.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

STATIC = Path(__file__).parent / "static"

LIGHT = {
    "paper": "#ffffff",
    "panel": "#f7f8fa",
    "rule": "#d7dbe0",
    "ink": "#1b1f24",
    "soft": "#5b6470",
    "blue": "#0072b2",
    "sky": "#56b4e9",
    "vermilion": "#d55e00",
    "amber": "#e69f00",
    "green": "#009e73",
    "rose": "#cc79a7",
    "grey": "#9aa3ae",
}
DARK = {
    "paper": "#111418",
    "panel": "#1a1f25",
    "rule": "#3a434e",
    "ink": "#e8ebef",
    "soft": "#a2acb8",
    "blue": "#4aa3df",
    "sky": "#7cc7f2",
    "vermilion": "#ff8a4c",
    "amber": "#f2b632",
    "green": "#2cc295",
    "rose": "#e59bc3",
    "grey": "#6b7683",
}
THEMED = {  # colours for which JupyterLab has a variable
    "paper": "--jp-layout-color1",
    "ink": "--jp-ui-font-color1",
}
OWN = ("board.css", "replicas.css", "znodes.css")  # looks that only one view needs
DARK_PAGES = '[data-jp-theme-light="false"] .lab-stage, .vscode-dark .lab-stage'


def read(name: str) -> str:
    """A file of static/ without its indents and comments, for a notebook keeps one per widget; a
    style sheet without its blanks, too."""
    text = (STATIC / name).read_text(encoding="utf-8")
    lines = [line.strip() for line in re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines()]
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    return re.sub(r"\s*([{};])\s*|([:,])\s+", r"\1\2", text) if name.endswith(".css") else text


def script() -> str:
    """What draws a picture on a page, keeps it in sight, and links the terms in a text with it."""
    return "\n".join(read(name) for name in ("terms.js", "dock.js", "stage.js"))


def looks(own: Sequence[str] = OWN) -> str:
    return "\n".join(map(read, ("looks.css", *own)))


def for_pages(*own: str) -> str:
    """For widgets on a page that sets light or dark. A notebook stores it once for each widget, so
    a
    view names the looks that only it needs."""
    rules = [_rule(".lab-stage", _themed(LIGHT)), _rule(DARK_PAGES, _themed(DARK)), looks(own)]
    return "\n".join([*rules, read("stage.css")])


def alone() -> str:
    """For a picture without a page: light or dark by the reader's system."""
    dark = _rule(".lab-scene", DARK)
    return "\n".join(
        [_rule(".lab-scene", LIGHT), f"@media (prefers-color-scheme: dark) {{{dark}}}", looks()]
    )


# -- looks as attributes, for pictures that may lose their style sheet ---------------------------

SELECTOR = re.compile(r"\.lab-scene ?([a-z]*)((?:\.[\w-]+)*)")  # no state, and no other element
FONT = re.compile(r"([\d.]+px)(?:/[\d.]+)? (.*)")
ATTRIBUTES = {  # what a style sheet says of a shape and an attribute can say, too
    *("fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray"),
    *("stroke-linecap", "stroke-linejoin", "opacity", "text-decoration"),
    *("font-family", "font-size", "font-weight", "font-style"),
}


class LookRule(NamedTuple):
    """A rule of looks.css, for one selector."""

    rank: tuple[int, bool, int]  # the greater wins: by classes, then by tag, then by place
    tag: str  # of these elements; empty: of all
    classes: frozenset[str]  # which have these looks
    said: dict[str, str]


def attributes(tag: str, look: str) -> dict[str, str]:
    """What a browser would make of an element's look, with the light colours."""
    classes, made = set(look.split()), dict[str, str]()
    for each in _looks():
        if each.tag in ("", tag) and each.classes <= classes:
            made |= each.said
    return made


@cache
def _looks() -> list[LookRule]:
    found = list[LookRule]()
    for place, (selectors, rule) in enumerate(re.findall(r"([^{}]+)\{([^}]*)\}", looks())):
        for selector in selectors.split(","):
            if fit := SELECTOR.fullmatch(selector.strip()):
                classes = frozenset(fit[2].split(".")[1:])
                rank = (len(classes), bool(fit[1]), place)
                tag = fit[1] or ("" if classes else "svg")  # .lab-scene itself is the <svg>
                found.append(LookRule(rank, tag, classes, _said(rule)))
    return sorted(found, key=lambda each: each.rank)


def _said(rule: str) -> dict[str, str]:
    said = dict[str, str]()
    for name, _, value in (each.strip().partition(":") for each in rule.split(";") if each):
        value = re.sub(r"var\(--(\w+)\)", lambda found: LIGHT[found[1]], value)
        if name == "font" and (font := FONT.fullmatch(value)):
            said |= {"font-size": font[1], "font-family": font[2].replace('"', "'")}
        elif name in ATTRIBUTES:
            said[name] = "none" if value == "transparent" else value
    return said


# -- rules --------------------------------------------------------------------------------------


def _themed(colours: dict[str, str]) -> dict[str, str]:
    own = {name: f"var({word}, {colours[name]})" for name, word in THEMED.items()}
    return colours | own | {"panel": "color-mix(in srgb, var(--ink) 4%, var(--paper))"}


def _rule(selector: str, colours: dict[str, str]) -> str:
    return f"{selector} {{" + "".join(f"--{name}:{it};" for name, it in colours.items()) + "}"
