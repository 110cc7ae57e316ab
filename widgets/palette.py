"""The colours, light and dark, and the one style sheet of all pictures.

Okabe and Ito's hues, which also the colour-blind tell apart, and never a hue alone: what matters
differs in shape or text as well.

    blue   leader          amber      high watermark, the controller's crown
    sky    in sync         vermilion  faults
    grey   out of sync     green      alive               rose  traffic

A picture names looks ("leader", "card"); static/looks.css says what a look is, in these colours.
In a notebook, paper and ink are JupyterLab's own, so a theme just works; a picture that stands
alone (`Scene.svg`) brings them along and follows the reader's system.

Invariant: both themes have the same names.
"""

import re
from collections.abc import Sequence
from pathlib import Path

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
THEMED = {  # what JupyterLab has a word for
    "paper": "--jp-layout-color1",
    "ink": "--jp-ui-font-color1",
}
OWN = ("replicas.css", "znodes.css")  # looks that only one view needs
DARK_PAGES = '[data-jp-theme-light="false"] .lab-stage, .vscode-dark .lab-stage'


def read(name: str) -> str:
    """A file of static/ without its indents and comments, for a notebook keeps one per widget; a
    style sheet without its blanks, too."""
    text = (STATIC / name).read_text(encoding="utf-8")
    lines = [line.strip() for line in re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines()]
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    return re.sub(r"\s*([{};])\s*|([:,])\s+", r"\1\2", text) if name.endswith(".css") else text


def looks(own: Sequence[str] = OWN) -> str:
    return "\n".join(map(read, ("looks.css", *own)))


def for_pages(*own: str) -> str:
    """For widgets: the page says whether it is light or dark. A notebook keeps it once for each
    widget, so of the looks that only some views need a view names its own."""
    rules = [_rule(".lab-stage", _themed(LIGHT)), _rule(DARK_PAGES, _themed(DARK)), looks(own)]
    return "\n".join([*rules, read("stage.css")])


def alone() -> str:
    """For a picture without a page: the reader's system says it."""
    dark = _rule(".lab-scene", DARK)
    return "\n".join(
        [_rule(".lab-scene", LIGHT), f"@media (prefers-color-scheme: dark) {{{dark}}}", looks()]
    )


def _themed(colours: dict[str, str]) -> dict[str, str]:
    own = {name: f"var({word}, {colours[name]})" for name, word in THEMED.items()}
    return colours | own | {"panel": "color-mix(in srgb, var(--ink) 4%, var(--paper))"}


def _rule(selector: str, colours: dict[str, str]) -> str:
    return f"{selector} {{" + "".join(f"--{name}:{it};" for name, it in colours.items()) + "}"
