"""What happened, in words, beside a picture; and below it what the last failover cost.

     What happened
     12.31  ▲ broker 2 killed (SIGKILL)
     14.35  ♛ broker 1 is controller
     ─────
     What it cost
     orders-1 unavailable for 2.10 s, of which 2.01 s is the session time-out. Lost: nothing.

The newest stands last; what has no room any more is above the edge. A click goes back to a line.
"""

from widgets import cost
from widgets.moment import Moment
from widgets.scene import Act, Shape, group, line, rect, text, wrap
from widgets.story import Line

LINE, PAD = 15.5, 4
TIME, GLYPH = 48, 16  # widths
LONGEST = 4  # lines of text for one thing


def drawn(moment: Moment, x: float, width: float, height: float) -> list[Shape]:
    shapes = [text("what happened", x, 30, "What happened", look="bold")]
    price, foot = _price(moment, x, width, height)
    y, shown = foot, list[tuple[Line, list[str]]]()
    for told in reversed(moment.lines):
        words = _wrapped(told, width)
        y -= LINE * len(words) + PAD
        if y < 40:
            break
        shown.append((told, words))
    if not shown:
        hint = "Nothing yet. Break something: click a broker or a link."
        words = wrap(hint if "kill" in moment.acts else "Nothing yet.", width, 11)
        for place, part in enumerate(words):
            shapes.append(text(f"nothing {place}", x, 52 + LINE * place, part, look="soft"))
    y = 40.0
    keys: dict[str, int] = {}
    for told, words in reversed(shown):
        keys[told.kind] = keys.get(told.kind, 0) + 1
        key = f"{told.kind} {told.at} {keys[told.kind]}"
        shapes.append(_line(moment, key, told, words, x, y, width))
        y += LINE * len(words) + PAD
    return shapes + price


def _wrapped(told: Line, width: float) -> list[str]:
    words = wrap(told.words, width - TIME - GLYPH, 11.5)
    if len(words) > LONGEST:
        words = [*words[: LONGEST - 1], words[LONGEST - 1] + " …"]
    return words


def _line(
    moment: Moment, key: str, told: Line, words: list[str], x: float, y: float, width: float
) -> Shape:
    clock = moment.clock(told.at)
    shapes = [
        rect("back", -4, 0, width + 6, LINE * len(words) + 2, 3, look="clear"),
        text("time", 0, 12, clock, look="soft"),
        text("glyph", TIME, 12, told.sort.glyph, look=told.sort.look),
    ]
    shapes += [
        text(f"words {place}", TIME + GLYPH, 12 + LINE * place, part, look="small")
        for place, part in enumerate(words)
    ]
    acts = (Act("goto", told.at, f"go to {clock} s"),) if "goto" in moment.acts else ()
    return group(key, x, y, shapes, label=f"{clock} s: {told.words}", acts=acts)


def _price(moment: Moment, x: float, width: float, height: float) -> tuple[list[Shape], float]:
    """The sentence, and where it begins."""
    outage = cost.latest(moment.story.outages, moment.at)
    if outage is None:
        return [], height - 12
    words = cost.sentence(outage, moment.reel.at, moment.at)
    lines = wrap(words, width, 11.5)
    y = height - 14 - LINE * len(lines)
    shapes = [
        line("cost rule", x, y - 24, x + width, y - 24, look="rule"),
        group(
            "cost",
            x,
            y - 16,
            [
                text("heading", 0, 10, "What it cost", look="bold"),
                *(
                    text(f"cost {place}", 0, 26 + LINE * place, part, look="small")
                    for place, part in enumerate(lines)
                ),
            ],
            label=f"{words} {cost.WHY}",
        ),
    ]
    return shapes, y - 30
