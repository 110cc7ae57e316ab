"""A broker on the picture: its name and role, its log, and its session with ZooKeeper.

● broker 2   ▮▮▮▮▮▮▮▮▮▮▮▯▯▯▯▯▯▯   session
  leader                          ━━━━━━━
"""

from typing import Any, TypeAlias

from docs.site.failover_picture import captions
from docs.site.failover_picture.failover import Counts, Failover
from docs.site.failover_picture.keyframes import Animation, Motion, Values, moving
from docs.site.failover_picture.layout import (
    BAR,
    CAUGHT_UP,
    FLIGHT,
    LANE_HEIGHT,
    LANE_X,
    LOG_WIDTH,
    LOG_X,
    NAME_X,
    RIGHT,
    SESSION_WIDTH,
    SESSION_X,
    PictureLayout,
    group,
    tag,
    words,
)

Facts: TypeAlias = dict[str, Any]


def broker_row(failover: Failover, plan: PictureLayout, loop: Animation, broker: int) -> list[str]:
    top = plan.top(broker)
    facts: Facts = {"x": LANE_X, "y": top, "width": RIGHT - LANE_X, "height": LANE_HEIGHT, "rx": 10}
    shapes = [tag("rect", "card", **facts)]
    dead = loop.shown(failover.killed, failover.back)
    if broker == failover.first:
        shapes.append(tag("rect", "gone", dead, **facts))
    shapes += _name(failover, loop, broker, top)
    shapes += _log(failover, plan, loop, broker)
    shapes += _session(failover, loop, broker, top)
    return shapes


def _name(failover: Failover, loop: Animation, broker: int, top: float) -> list[str]:
    shapes = [words(NAME_X + 20, top + 32, f"broker {broker}", "head")]
    if broker == failover.controller:
        crown = f"M{NAME_X + 98} {top + 32}v-11l4 5 4-8 4 8 4-5v11z"
        shapes.append(tag("path", "crown", d=crown))
    light: Facts = {"cx": NAME_X + 6, "cy": top + 27, "r": 6}
    if broker != failover.first:
        shapes.append(tag("circle", "ok", **light))
    else:
        faint = (failover.started, "opacity:.4"), (failover.back, "opacity:1")
        alive = loop.steps([(0, "opacity:1"), (failover.killed, "opacity:0"), *faint])
        shapes.append(tag("circle", "ok", alive, **light))
        x, y = NAME_X + 6, top + 27
        cross = f"M{x - 5} {y - 5}l10 10m0-10l-10 10"
        shapes.append(tag("path", "cross", loop.shown(failover.killed, failover.started), d=cross))
    for start, end, style, look in captions.roles(failover, broker, loop.length):
        shapes.append(words(NAME_X + 20, top + 53, style, look, loop.shown(start, end)))
    return shapes


def _log(failover: Failover, plan: PictureLayout, loop: Animation, broker: int) -> list[str]:
    """One bar, which grows; over it cuts, so that each record is a cell."""
    y, cell = plan.middle(broker) - BAR / 2, LOG_WIDTH / plan.most
    grown = loop.glides(
        moving(_late(failover, broker), lambda count: f"transform:scaleX({count / plan.most:.4f})")
    )
    bars = [
        tag("rect", look, motion, x=0, y=0, width=LOG_WIDTH, height=BAR)
        for look, motion in _colours(failover, loop, broker)
    ]
    cuts = "".join(f"M{cell * place:.1f} 0v{BAR}" for place in range(1, plan.most))
    return [
        group(
            [
                tag("rect", "slot", width=LOG_WIDTH, height=BAR),
                group(bars, grown),
                tag("path", "cuts", d=cuts),
            ],
            transform=f"translate({LOG_X} {y:g})",
        )
    ]


def _colours(failover: Failover, loop: Animation, broker: int) -> list[tuple[str, Motion | None]]:
    """Of the log: whose it is."""
    if broker == failover.first:
        return [
            ("lead", loop.shown(0, failover.killed)),
            ("lag", loop.shown(failover.killed, failover.whole + CAUGHT_UP)),
            ("sync", loop.shown(failover.whole + CAUGHT_UP, loop.length)),
        ]
    if broker == failover.second:
        return [
            ("sync", loop.shown(0, failover.elected)),
            ("lead", loop.shown(failover.elected, loop.length)),
        ]
    return [("sync", None)]


def _session(failover: Failover, loop: Animation, broker: int, top: float) -> list[str]:
    """Full while it is kept alive; of a dead broker it runs out."""
    facts: Facts = {"y": top + 42, "height": 9, "rx": 4.5}
    rail = tag("rect", "slot", x=SESSION_X, width=SESSION_WIDTH, **facts)
    head = words(SESSION_X - 1, top + 32, "session", "tiny")
    bar: Facts = {"x": 0, "width": SESSION_WIDTH, "y": 0, "height": 9, "rx": 4.5}
    where = f"translate({SESSION_X} {top + 42:g})"
    if broker != failover.first:
        return [head, rail, group([tag("rect", "ok", **bar)], transform=where)]
    left: Values = [
        (0, "transform:scaleX(1)"),
        (failover.killed, "transform:scaleX(1)"),
        (failover.gone, "transform:scaleX(0)"),
        (failover.back, "transform:scaleX(0)"),
        (failover.back + 300, "transform:scaleX(1)"),
    ]
    alive = loop.steps(
        [(0, "opacity:1"), (failover.killed, "opacity:0"), (failover.back, "opacity:1")]
    )
    dead = loop.shown(failover.killed, failover.back)
    running = [tag("rect", "ok", alive, **bar), tag("rect", "bad", dead, **bar)]
    over = words(
        SESSION_X - 1, top + 67, "expired", "tiny bad", loop.shown(failover.gone, failover.back)
    )
    return [head, rail, group([group(running, loop.glides(left))], transform=where), over]


def _late(failover: Failover, broker: int) -> Counts:
    """A follower's are seen when the record has come down to it."""
    return [
        (at, count) if at == 0 or failover.leader(at) == broker else (at + FLIGHT, count)
        for at, count in failover.ends[broker]
    ]
