"""The picture: three logs that grow, a leader that is killed, and its successor."""

from html import escape
from itertools import pairwise
from typing import NamedTuple

from docs.site.failover_picture import captions
from docs.site.failover_picture.broker_row import broker_row
from docs.site.failover_picture.failover import Counts, Failover
from docs.site.failover_picture.keyframes import Animation, Values, moving
from docs.site.failover_picture.layout import (
    CAPTION,
    FLIGHT,
    HEIGHT,
    LANE_X,
    LEFT,
    LEVEL,
    PRODUCER,
    RIGHT,
    WIDTH,
    PictureLayout,
    group,
    tag,
    words,
)

OUT = PRODUCER[0] + PRODUCER[2], PRODUCER[1] + PRODUCER[3] / 2  # where records leave
HOLD = 1000  # ms at the end, before it begins anew
FONT = 'system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif'
LOOKS = """
text{{font:13px/1.3 {font};fill:{ink}}}
.head{{font-size:15px;font-weight:700}}
.soft{{fill:{soft}}}
.tiny{{fill:{soft};font-size:11.5px}}
.says{{font-size:21px;font-weight:700}}
.more{{font-size:15px;fill:{soft}}}
.role{{fill:{blue};font-weight:700}}
.cross{{fill:none;stroke:{vermilion};stroke-width:3}}
.way{{fill:none;stroke:{soft};stroke-width:1.5}}
.card{{fill:{panel};stroke:{rule}}}
.gone{{fill:{panel};stroke:{vermilion};stroke-dasharray:5 4}}
.lead{{fill:{blue}}}
.sync{{fill:{sky}}}
.lag{{fill:{grey}}}
.bad{{fill:{vermilion}}}
.ok{{fill:{green}}}
.crown{{fill:{amber}}}
.mark{{fill:{amber};stroke:{amber};stroke-width:1.5}}
.slot{{fill:{rule};opacity:.45}}
.cuts{{fill:none;stroke:{panel};stroke-width:1}}
.dot{{fill:{rose}}}
.rail{{fill:{rule}}}
.outage{{fill:{vermilion};opacity:.25}}
.paper{{fill:{paper}}}
"""


def picture(failover: Failover, colours: dict[str, str]) -> str:
    """An SVG document in these colours, of widgets/palette.py."""
    still = min(failover.elected + 2500, failover.started - 100)
    loop = Animation(failover.length + HOLD, still)
    plan = PictureLayout(failover.brokers, max(count for _, count in failover.committed))
    shapes = [
        *_producer(failover, plan, loop),
        *(
            shape
            for broker in failover.brokers
            for shape in broker_row(failover, plan, loop, broker)
        ),
        *_watermark(failover, plan, loop),
        *_traffic(failover, plan, loop),
        *_captions(failover, loop),
        *_time(failover, loop),
    ]
    looks = LOOKS.replace("\n", "").format(font=FONT, **colours)
    title = f"A failover, recorded: {captions.summary(failover)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img"><title>{escape(title)}</title>'
        f"<style>{looks}{loop.css()}</style>"
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="12"/>{"".join(shapes)}</svg>\n'
    )


def _producer(failover: Failover, plan: PictureLayout, loop: Animation) -> list[str]:
    x, y, width, height = PRODUCER
    ways = (failover.first, 0, failover.killed), (failover.second, failover.elected, loop.length)
    shapes = [
        *(
            tag("path", "way", loop.shown(start, end), d=_way(plan, broker))
            for broker, start, end in ways
        ),
        tag("rect", "card", x=x, y=y, width=width, height=height, rx=10),
        words(x + 14, y + 27, "producer", "head"),
    ]
    for start, end in ((0, failover.killed), (failover.elected, loop.length)):
        shapes.append(words(x + 14, y + 48, "acks=all", "soft", loop.shown(start, end)))
    waits = loop.shown(failover.killed, failover.elected)
    shapes.append(words(x + 14, y + 48, "waits …", "bad", waits))
    counts = [*_known(failover), (loop.length, 0)]
    for (at, count), (end, _) in pairwise(counts):
        shapes.append(words(x + 14, y + 69, f"{count} stored", "", loop.shown(at, end)))
    return shapes


def _way(plan: PictureLayout, broker: int) -> str:
    """From the producer to the leader."""
    (x, y), to = OUT, plan.middle(broker)
    return f"M{x} {y}L{LANE_X} {to}"


# -- what moves --------------------------------------------------------------------------------


def _known(failover: Failover) -> Counts:
    """The high watermark rises when the followers have asked for more."""
    return [(at + 2 * FLIGHT if at else 0, count) for at, count in failover.committed]


def _watermark(failover: Failover, plan: PictureLayout, loop: Animation) -> list[str]:
    moved = loop.glides(
        moving(_known(failover), lambda count: f"transform:translateX({plan.x(count):.1f}px)")
    )
    top, bottom = plan.top(plan.brokers[0]) + 6, plan.bottom - 6
    flag = tag("path", "mark", d=f"M0 {top}V{bottom}M-5 {top - 1}h10l-5 7z")
    return [group([flag, words(0, 24, "high watermark", "tiny", text_anchor="middle")], moved)]


def _traffic(failover: Failover, plan: PictureLayout, loop: Animation) -> list[str]:
    """A dot for each way: from the producer to a leader, and down to the followers."""
    shapes = []
    for leader in (failover.first, failover.second):
        for broker in failover.brokers:
            seen = [it for it in failover.ends[broker][1:] if failover.leader(it[0]) == leader]
            if broker == leader:
                there = LANE_X, plan.middle(leader)
                shapes.append(_dot(loop, [Flight(at - FLIGHT, OUT, there) for at, _ in seen]))
            else:
                down = plan.middle(leader), plan.middle(broker)
                falls = [Flight(at, *((plan.x(count), y) for y in down)) for at, count in seen]
                shapes.append(_dot(loop, falls))
    return shapes


class Flight(NamedTuple):
    """Of a record, from one place to another."""

    at: float  # ms
    start: tuple[float, float]
    end: tuple[float, float]


def _dot(loop: Animation, flights: list[Flight]) -> str:
    values: Values = [(0, "opacity:0")]
    for at, (x, y), (to_x, to_y) in flights:
        start = max(at, values[-1][0] + 6)
        here = f"transform:translate({x:.0f}px,{y:.0f}px)"
        there = f"transform:translate({to_x:.0f}px,{to_y:.0f}px)"
        values += [
            (start, f"opacity:0;{here}"),
            (start + 3, f"opacity:1;{here}"),
            (start + FLIGHT, f"opacity:1;{there}"),
            (start + FLIGHT + 3, f"opacity:0;{there}"),
        ]
    return tag("circle", "dot", loop.glides(values), r=5)


# -- below -------------------------------------------------------------------------------------


def _captions(failover: Failover, loop: Animation) -> list[str]:
    shapes = []
    for start, end, says, more in captions.captions_of(failover, loop.length):
        shown = loop.shown(start, end)
        lines = [words(LEFT, CAPTION, says, "says"), words(LEFT, CAPTION + 25, more, "more")]
        shapes.append(group(lines, shown))
    return shapes


def _time(failover: Failover, loop: Animation) -> list[str]:
    def x(at: float) -> float:
        return LEFT + (RIGHT - LEFT) * at / loop.length

    y = LEVEL
    passed = loop.glides([(0, "transform:scaleX(0)"), (loop.length, "transform:scaleX(1)")])
    bar = tag("rect", "sync", passed, width=RIGHT - LEFT, height=5, rx=2.5)
    killed, elected, started = x(failover.killed), x(failover.elected), x(failover.started)
    return [
        tag("rect", "rail", x=LEFT, y=y, width=RIGHT - LEFT, height=5, rx=2.5),
        group([bar], transform=f"translate({LEFT} {y})"),
        tag("rect", "outage", x=killed, y=y - 5, width=elected - killed, height=15),
        tag("path", "bad", d=f"M{killed:.1f} {y - 5}l7 13h-14z"),
        tag("circle", "lead", cx=elected, cy=y + 2.5, r=7),
        tag("circle", "ok", cx=started, cy=y + 2.5, r=7),
    ]
