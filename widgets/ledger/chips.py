"""A verdict as a coloured word in a page: a small picture, since GitHub takes colours from text.

The cards of a ledger have the same colours.
"""

from pathlib import Path

from widgets.text_width import width_of

COLORS = {  # white text is readable on each, and each on white and on black
    "holds": "#1b7f5c",
    "conditional": "#9a6a00",
    "wrong": "#b5442e",
    "outdated": "#5c6f82",
    "opinion": "#7a5aa6",
}

FOLDER = "verdicts"
SIZE, HEIGHT, ROOM = 12, 20, 10  # px: of the letters, of the chip, on each side of the word
FONT = "-apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def image(verdict: str) -> str:
    """In Markdown, for a page beside the folder."""
    return f"![{verdict}]({FOLDER}/{verdict}.svg)"


def files(folder: Path) -> dict[Path, str]:
    return {folder / f"{verdict}.svg": svg(verdict) for verdict in COLORS}


def svg(verdict: str) -> str:
    width = round(width_of(verdict, SIZE)) + 2 * ROOM
    box = f'width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}"'
    text = f'x="{width / 2}" y="14" font-family="{FONT}" font-size="{SIZE}" text-anchor="middle"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{verdict}">'
        f'<rect width="{width}" height="{HEIGHT}" rx="{HEIGHT / 2}" fill="{COLORS[verdict]}"/>'
        f'<text {text} fill="#fff">{verdict}</text></svg>\n'
    )
