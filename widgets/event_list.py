"""The list of events, and the cost of the last failover: beside a picture, or below it.

     What happened
     12.31  ▲ broker 2 killed (SIGKILL)
     14.35  ♛ broker 1 is controller
     ─────
     What it cost
     orders-1 unavailable for 2.10 s, of which 2.01 s is the session time-out. Lost: nothing
     committed.

While a link is cut, there stands what follows from it (link_faults.py).

The newest event is last; if there is no room, the oldest are left out. A click on a line goes back
to its moment. Lines are broken between words, and a line has as many letters as fit.
"""

from widgets import failover_cost, link_faults
from widgets.moment import ViewMoment
from widgets.scene import Act, SceneShape, group, line, rect, text, width_of, wrap
from widgets.story import StoryLine
from widgets.text_column import TextColumn

LINE, PAD = 15.5, 4
GLYPH = 17  # width
SIZE = 11.5  # of the words
LONGEST = 4  # lines of text for one event
TOLD = 3  # sentences about cut links
HEADING = 30  # its baseline
BELOW = 112  # height of the list below a picture
APART = 620  # px: on a wider page the list and the cost stand side by side
SHARE = 0.6  # of the width for the list, where it stands beside the cost in a limited height
ASIDE = 460  # px: on a page at least as wide
MARGIN = 14


def drawn(moment: ViewMoment, x: float, width: float, height: float) -> list[SceneShape]:
    """Beside a picture of this height."""
    price, foot = _cost_at_the_foot(moment, x, width, height)
    return [*_list(moment, x, 0, width, foot), *price]


def below(
    moment: ViewMoment, top: float, width: float, foot: float = 0
) -> tuple[list[SceneShape], float]:
    """Below a picture that ends at `top`; and where this ends. `foot`: where it has to end."""
    words = _cost(moment)
    shapes = [line("edge", 0, top, width, top, look="rule")]
    if foot:
        half, room = width * SHARE, width * (1 - SHARE) - 2 * MARGIN
        high = HEADING + 10 + LINE * len(wrap(words, room, SIZE))
        if width >= ASIDE and high <= foot - top:
            shapes += _list(moment, MARGIN, top, half - MARGIN, foot)
            return [*shapes, *_price(moment, words, half + MARGIN, top + 20, room)], foot
        price, until = _cost_at_the_foot(moment, MARGIN, width - 2 * MARGIN, foot)
        return [*shapes, *_list(moment, MARGIN, top, width - 2 * MARGIN, until), *price], foot
    if width >= APART:
        half = width * 0.56
        shapes += _list(moment, MARGIN, top, half - MARGIN, top + HEADING + BELOW)
        shapes += _price(moment, words, half + MARGIN, top + 20, width - half - 2 * MARGIN)
        return shapes, top + HEADING + BELOW
    shapes += _list(moment, MARGIN, top, width - 2 * MARGIN, top + HEADING + BELOW)
    bottom = top + HEADING + BELOW
    if words:
        price = _price(moment, words, MARGIN, bottom + 12, width - 2 * MARGIN)
        shapes += [line("cost rule", MARGIN, bottom, width - MARGIN, bottom, look="rule"), *price]
        bottom += 46 + LINE * len(wrap(words, width - 2 * MARGIN, SIZE))
    return shapes, bottom


def _list(moment: ViewMoment, x: float, top: float, width: float, foot: float) -> list[SceneShape]:
    shapes = [text("what happened", x, top + HEADING, "What happened", look="bold")]
    y = top + HEADING + 10
    shown = newest(moment, x, y, width, foot)
    if not shown:
        hint = " Break something: click a broker or a link." if "kill" in moment.acts else ""
        column = TextColumn(x, y + 12, width, LINE)
        shown = column.write("nothing", f"Nothing yet.{hint}", "soft").shapes
    return shapes + shown


def newest(moment: ViewMoment, x: float, y: float, width: float, foot: float) -> list[SceneShape]:
    """As many of the newest events as there is room for, from `y` to `foot`."""
    shapes: list[SceneShape] = []
    keys: dict[str, int] = {}
    for told, words in _fitting(moment, width, foot - y):
        keys[told.kind] = keys.get(told.kind, 0) + 1
        key = f"{told.kind} {told.at} {keys[told.kind]}"
        shapes.append(_line(moment, key, told, words, x, y, width))
        y += LINE * len(words) + PAD
    return shapes


def _fitting(moment: ViewMoment, width: float, room: float) -> list[tuple[StoryLine, list[str]]]:
    """Events, each with its lines of text."""
    shown: list[tuple[StoryLine, list[str]]] = []
    for told in reversed(moment.lines):
        words = wrap(told.words, width - _time(moment) - GLYPH, SIZE)
        if len(words) > LONGEST:
            words = [*words[: LONGEST - 1], words[LONGEST - 1] + " …"]
        room -= LINE * len(words) + PAD
        if room < 0:
            break
        shown.append((told, words))
    return shown[::-1]


def _time(moment: ViewMoment) -> float:
    """The width of the times: as wide as the longest of this run."""
    return width_of(moment.clock(moment.run_source.end), 11) + 9


def _line(
    moment: ViewMoment,
    key: str,
    told: StoryLine,
    words: list[str],
    x: float,
    y: float,
    width: float,
) -> SceneShape:
    clock, at = moment.clock(told.at), _time(moment)
    shapes = [
        rect("back", -4, 0, width + 6, LINE * len(words) + 2, 3, look="clear"),
        text("time", 0, 12, clock, look="soft"),
        text("glyph", at, 12, told.sort.glyph, look=told.sort.look),
    ]
    column = TextColumn(at + GLYPH, 12, width, LINE)
    column.put("words", words, "small")
    acts = (Act("goto", told.at, f"go to {clock} s"),) if "goto" in moment.acts else ()
    return group(key, x, y, shapes + column.shapes, label=f"{clock} s: {told.words}", acts=acts)


# -- what it cost -------------------------------------------------------------------------------


def _cost(moment: ViewMoment) -> str:
    follows = link_faults.sentences(moment)
    more = [f"And {len(follows) - TOLD} more."] if len(follows) > TOLD else []
    return " ".join([*follows[:TOLD], *more, _failover(moment)]).strip()


def _failover(moment: ViewMoment) -> str:
    outage = failover_cost.latest(moment.story.outages, moment.at)
    if outage is None:
        return ""
    return failover_cost.sentence(outage, moment.run_source.at, moment.at)


def _cost_at_the_foot(
    moment: ViewMoment, x: float, width: float, height: float
) -> tuple[list[SceneShape], float]:
    """The sentence, and where it begins."""
    words = _cost(moment)
    if not words:
        return [], height - 12
    y = height - 14 - LINE * len(wrap(words, width, SIZE))
    rule = line("cost rule", x, y - 24, x + width, y - 24, look="rule")
    return [rule, *_price(moment, words, x, y - 16, width)], y - 30


def _price(moment: ViewMoment, words: str, x: float, y: float, width: float) -> list[SceneShape]:
    if not words:
        return []
    follows = any(it.cut for it in moment.state.links)
    shapes = [text("heading", 0, 10, "What follows" if follows else "What it cost", look="bold")]
    shapes += TextColumn(0, 27, width, LINE).write("cost", words, "small").shapes
    why = f" {failover_cost.WHY}" if _failover(moment) else ""
    return [group("cost", x, y, shapes, label=f"{words}{why}")]
