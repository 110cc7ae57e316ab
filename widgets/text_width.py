"""How wide a text is, before any browser has drawn it; and how it is broken into lines.

The layout is computed in Python, where there is no font. So the widths here are those of DejaVu
Sans, which is among the widest fonts that a system draws with: in Segoe UI, Roboto or San Francisco
each text is narrower.

    words      "session of broker 2 is over"
    width_of   148.9 at 11 px
    wrap       "session of broker" / "2 is over", if there is room for 110 px

Invariant: a text is never wider on the page than `width_of` says; tests/browser/test_text.py
measures it there.
"""

from math import fsum

BOLD = 1.16  # a bold text, compared with the same in a normal weight
MONO = 0.603  # each letter of a font whose letters are all of one width
LEAST = 11  # px: no text is smaller, at any width of the page

BY_WIDTH = {  # hundredths: the letters of that width
    29: "ijlIJ'",
    32: " .,·’",
    36: "/:;\\|f-",
    41: "()[]tr!",
    50: '*_`–▸▾"',
    53: "sz“”?",
    58: "cLFk",
    61: "vxyPTYaoäö┆",
    64: "eESbdghnpquü0123456789${}",
    69: "KAVBRXZ",
    73: "CU",
    79: "HNDGOQ&▲◆▽",
    84: "#+<=>^~→←×✂✎✓✗±❙✕↱≥≤w",
    90: "M◎●○♛★",
    100: "m%⅛W@…—■",
}
WIDTHS = {letter: width / 100 for width, letters in BY_WIDTH.items() for letter in letters}
OTHER = 0.9  # a letter that is not in the table


def width_of(words: str, size: float = 12, bold: bool = False, mono: bool = False) -> float:
    """The width of a text, rather too large."""
    if mono:
        return MONO * size * len(words)
    width = size * fsum(WIDTHS.get(letter, OTHER) for letter in words)
    return width * BOLD if bold else width  # sum() rounds otherwise since Python 3.12


def fit(words: str, width: float, size: float = 12, bold: bool = False, mono: bool = False) -> str:
    """The beginning of a text that fits into a width."""
    if width_of(words, size, bold, mono) <= width:
        return words
    while words and width_of(words + "…", size, bold, mono) > width:
        words = words[:-1]
    return words.rstrip() + "…"


def wrap(
    words: str, width: float, size: float = 12, bold: bool = False, mono: bool = False
) -> list[str]:
    """The lines of a text. A word that is longer than a line is broken, after a mark if it has
    one: a path after a slash."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if width_of(longer, size, bold, mono) <= width:
            lines[-1] = longer
            continue
        while width_of(word, size, bold, mono) > width:
            at = _break(word, width, size, bold, mono)
            lines.append(word[:at])
            word = word[at:]
        lines.append(word)
    return lines[1:] if len(lines) > 1 and not lines[0] else lines


def _break(word: str, width: float, size: float, bold: bool, mono: bool) -> int:
    """Where a word is broken that is longer than a line: at least one letter on."""
    fitting = (
        at for at in range(len(word), 1, -1) if width_of(word[:at], size, bold, mono) <= width
    )
    room = next(fitting, 1)
    marks = [at for at in range(room // 2, room) if word[at - 1] in "/,.:-_"]
    return marks[-1] if marks and marks[-1] > 0 else room
