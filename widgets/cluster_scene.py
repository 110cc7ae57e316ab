"""A whole cluster at one moment, as a picture: brokers, links, clients, timeline and texts.

    ┌──────────────────────────────┬───────────────┐
    │          ZooKeeper           │ What happened │
    │  broker 1  broker 2  broker 3│ ...           │
    │  producers  legend  consumers│ What it cost  │
    ├──────────────────────────────┴───────────────┤
    │ ━━━━━▲▒▒▒▒★━━━━○                             │
    └──────────────────────────────────────────────┘

On a page of less than 800 px the texts stand below the cluster. Where the height is limited too, in
the dock, it is all used: the list of events gets what the cluster leaves. ZooKeeper is a line there
if need be, and without clients there is room for more events; the legend stays as long as it can.

A pure function: the same moment makes the same picture, with a kernel or without.
"""

from dataclasses import replace

from engine.model import TopicPartition
from widgets import controllers_scene, ensemble_scene, event_list, links, replicas, timeline
from widgets.broker_card import ANSWERS, DOWN, HEALED, OFFERS, faults, light
from widgets.cluster_layout import HEADING, Box, ClusterLayout
from widgets.ideas.idea import ideas
from widgets.moment import ViewMoment
from widgets.scene import (
    UP_TO,
    Act,
    Scene,
    SceneShape,
    chip,
    fit,
    group,
    line,
    path,
    rect,
    text,
    width_of,
    wrap,
)
from widgets.story import internal

BESIDE = 800  # px: on a narrower page the texts are below
PANEL, SLIM = 226, 190  # width of the texts beside; on a page that is not wide
WIDE = 960
INTERNAL = 18  # height of the line for Kafka's own topics
TEXTS = 165  # px: what happened, in six lines, and what it cost, beside them or below
LEAST = 380  # so that there is room for what happened beside
TERMS = {"leader": "leader", "follower": "in-sync replica", "mark": "high watermark"}  # by sign
ROOMY = 190  # a broker's card with room for more than its name


def picture(moment: ViewMoment) -> Scene:
    plan, whole = plan_of(moment), moment.width
    if whole >= BESIDE:
        height = max(plan.height, LEAST)
        x = plan.width + 18
        edge = line("edge", plan.width + 6, 0, plan.width + 6, height, look="rule")
        words = [edge, *event_list.drawn(moment, x, whole - x - 8, height)]
    else:
        foot = moment.height - timeline.HEIGHT if moment.height else 0
        if foot:
            plan = _within(plan, foot - TEXTS)
            foot = max(foot, plan.height + TEXTS)
        words, height = event_list.below(moment, plan.height, whole, foot)
    shapes = [
        *links.drawn(moment, plan),
        _keeper(moment, plan),
        *(_broker(moment, plan, number) for number in plan.brokers),
        *links.traffic(moment, plan),
        *(_clients(moment, plan) if plan.ends else ()),
        *(_legend(plan) if plan.signs else ()),
        *words,
        line("floor", 0, height, whole, height, look="rule"),
        *timeline.drawn(moment, 24, height, whole - 48),
    ]
    title = f"A cluster of {_count(len(plan.brokers), 'broker')}, {about(moment)}"
    return Scene(whole, height + timeline.HEIGHT, shapes, title=title, says=moment.says)


def _within(plan: ClusterLayout, height: float) -> ClusterLayout:
    """With less in it, one thing after the other, as long as it is too high."""
    tight = replace(plan, tight=True)
    alone = replace(tight, ends=False)
    plans = plan, tight, alone, replace(alone, signs=False)
    return next((each for each in plans if each.height <= height), plans[-1])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def about(moment: ViewMoment) -> str:
    """The header's few words."""
    topics = {partition.topic for partition in moment.partitions}
    name = next(iter(topics)) if len(topics) == 1 else f"{len(topics)} topics"
    known = _count(len(moment.partitions), "partition")
    words = f"{name} · {known}" if moment.partitions else "no topic yet"
    copies = {len(state.assignment) for state in moment.partitions.values()}
    if len(copies) == 1:
        words += f" · replication {copies.pop()}"
    leaderless = sum(not _served(moment, it) for it in moment.partitions)
    return words + (f" · {leaderless} without a leader" if leaderless else "")


def _served(moment: ViewMoment, partition: TopicPartition) -> bool:
    """It has a leader, and that broker serves."""
    leader = moment.partitions[partition].leader
    return leader in moment.state.brokers and moment.status(leader) == "up"


def plan_of(moment: ViewMoment) -> ClusterLayout:
    brokers = tuple(sorted(moment.state.brokers))
    panel = PANEL if moment.width >= WIDE else SLIM
    width = moment.width - panel - 26 if moment.width >= BESIDE else moment.width
    servers = moment.state.zookeepers or moment.state.controllers
    sessions = [
        (broker, name)
        for name, server in moment.state.zookeepers.items()
        for broker in server.brokers
    ]
    if leads := controllers_scene.active(moment):
        sessions = [(broker, leads) for broker in brokers]
    using = tuple(sorted(each for each in sessions if each[0] in brokers))
    plan = ClusterLayout(brokers, 0, width, servers=tuple(sorted(servers)), sessions=using)
    inside = replicas.height(moment.partitions, plan.card_width - 2 * plan.indent)
    own = any(internal(partition.topic) for partition in moment.state.partitions)
    return replace(plan, inside=inside + (INTERNAL if own and not moment.topic else 0))


def _keeper(moment: ViewMoment, plan: ClusterLayout) -> SceneShape:
    """What has the metadata: the controllers, or ZooKeeper."""
    if moment.state.controllers:
        return controllers_scene.keeper(moment, plan)
    return _zookeeper(moment, plan)


def _zookeeper(moment: ViewMoment, plan: ClusterLayout) -> SceneShape:
    box, state = plan.keeper, moment.state
    alive = sum(it.session is not None and it.answers for it in state.brokers.values())
    epoch = max((it.controller_epoch for it in state.brokers.values()), default=0)
    controller = f"broker {state.controller}" if state.controller >= 0 else "nobody"
    words = f"/controller → {controller} · epoch {epoch}"
    first = 21 if plan.low else 25  # the baseline
    shapes = [
        rect("card", 0, 0, box.width, box.height, 10, look="card"),
        text("name", 16, first, "ZooKeeper", look="head"),
        text("sessions", box.width - 14, first, _count(alive, "session"), UP_TO, look="soft"),
        text("controller", *((112, first) if plan.low else (16, 46)), words, look="soft"),
    ]
    label = f"ZooKeeper: {alive} of {len(state.brokers)} brokers have a session; {words}"
    if plan.servers:
        shapes += ensemble_scene.drawn(moment, plan)
        label += f"; {ensemble_scene.about(moment)}"
    return group("zookeeper", box.x, box.y, shapes, label=label)


# -- a broker -----------------------------------------------------------------------------------

HINTS = {
    "up": ("click: kill · pause · restart", "click: kill · pause", "click: kill"),
    "paused": ("click: resume · kill", "click: resume"),
    "starting": (),
}
STARTS_AGAIN = "click to start it again", "click to start it", "click: start"


def offers(moment: ViewMoment, number: int) -> tuple[Act, ...]:
    status = moment.status(number)
    found = OFFERS.get(status, DOWN)
    if status == "up":
        found += HEALED if moment.broker(number).request_faults else ANSWERS
    return tuple(
        Act(name, str(number), words, kind) for name, words, kind in found if name in moment.acts
    )


def _broker(moment: ViewMoment, plan: ClusterLayout, number: int) -> SceneShape:
    box, status = plan.box(number), moment.status(number)
    away = status not in ("up", "starting")
    crowned = moment.state.controller == number
    shapes = [rect("card", 0, 0, box.width, box.height, 10, look="card away" if away else "card")]
    shapes += _heading(moment, number, status, plan, crowned)
    inside = box.width - 2 * plan.indent
    held = replicas.drawn(number, moment.partitions, inside)
    own = _internal(moment, number, plan.inside - INTERNAL + 11, inside)
    dim = "dim" if away else ""
    shapes.append(group("replicas", plan.indent, HEADING, held + own, look=dim))
    acts = offers(moment, number)
    hints = HINTS.get(status, STARTS_AGAIN) if acts else ()
    if box.width < ROOMY and away:  # no room for the status in the heading
        hints = (*(f"{status} · {each}" for each in hints), status)
    hint = next((each for each in hints if width_of(each, 11) <= inside), "")
    wrong = ", ".join(faults(moment.broker(number).request_faults)) if status == "up" else ""
    words = fit(wrong, inside, 11) if wrong else hint
    look = "soft bad" if wrong else "soft"
    shapes.append(text("hint", plan.indent, box.height - 11, words, look=look))
    led = replicas.tally(number, moment.partitions)["leader"]
    label = f"broker {number}: {status}, leads {led}" + (", controller" if crowned else "")
    label += f"; {wrong}" if wrong else ""
    return group(f"broker {number}", box.x, box.y, shapes, label=label, acts=acts)


def _heading(
    moment: ViewMoment, number: int, status: str, plan: ClusterLayout, crowned: bool
) -> list[SceneShape]:
    width, indent = plan.card_width, plan.indent
    name, x, size = f"broker {number}", indent + (20 if not plan.narrow else 17), 12
    if not plan.narrow:
        size = 14
    shapes = [
        *light(status, indent + 6),
        text("name", x, 27, name, look="bold" if plan.narrow else "head"),
    ]
    end = x + width_of(name, size, bold=True) + 4
    if crowned:
        shapes.append(
            text("crown", end, 27, "♛", look="crown bold" if plan.narrow else "crown head")
        )
        if width >= ROOMY and status == "up":
            shapes.append(text("controller", end + 17, 26, "controller", look="soft"))
    pid = moment.broker(number).pid
    words = (f"pid {pid}" if pid else "simulated") if status == "up" else status
    if width >= ROOMY and not (crowned and status == "up"):  # the crown is more important
        look = "soft" if status in ("up", "starting") else "soft bad"
        shapes.append(text("status", width - indent, 26, words, UP_TO, look=look))
    return shapes


def _internal(moment: ViewMoment, number: int, y: float, width: float) -> list[SceneShape]:
    """Kafka's own topics, on one line."""
    own = {it: state for it, state in moment.state.partitions.items() if internal(it.topic)}
    if not own or moment.topic:
        return []
    counts = replicas.tally(number, own)
    here = sum(counts.values())
    names = sorted({partition.topic for partition in own})
    words = f"{' '.join(names)}: leads {counts['leader']} of {here}"
    if width_of(words, 11) > width:
        words = f"internal {counts['leader']}/{here}"
    label = f"Kafka's own topics: leads {counts['leader']} of {here} partitions"
    return [group("own", 0, 0, [text("internal", 0, y, words, look="tiny")], label=label)]


# -- clients and legend -------------------------------------------------------------------------


def _clients(moment: ViewMoment, plan: ClusterLayout) -> list[SceneShape]:
    ends = {
        it: max((replica.log_end for replica in state.replicas.values()), default=0)
        for it, state in moment.partitions.items()
    }
    total, rate = sum(ends.values()), _rate(moment)
    records = _count(total, "record") + (f" · {rate:,} a second" if rate else "")
    readers = [
        f"{name}: {_count(len(each.members), 'member')} · "
        f"{each.state} · lag {_lag(moment, each.offsets)}"
        for name, each in moment.state.groups.items()
        if each.members or each.offsets
    ]
    told = readers[0] if readers else "no group yet"
    if len(readers) > 1:
        members = sum(len(it.members) for it in moment.state.groups.values())
        told = f"{len(readers)} groups · {_count(members, 'member')}"
    return [
        _client("producers", plan.producers, "producers", records, records),
        _client("consumers", plan.consumers, "consumer groups", told, "; ".join(readers) or told),
    ]


def _client(key: str, box: Box, name: str, words: str, label: str) -> SceneShape:
    x = 14 if box.width >= ROOMY else 10
    lines = wrap(words, box.width - 2 * x, 11)
    most = int((box.height - 26) // 15)
    if len(lines) > most:
        lines = [*lines[: most - 1], fit(" ".join(lines[most - 1 :]), box.width - 2 * x, 11)]
    shapes = [
        rect("card", 0, 0, box.width, box.height, 10, look="card"),
        text("name", x, 22, name, look="bold"),
        *(text(f"words {at}", x, 41 + 15 * at, it, look="soft") for at, it in enumerate(lines)),
    ]
    return group(key, box.x, box.y, shapes, label=f"{name}: {label}")


def _lag(moment: ViewMoment, offsets: object) -> int:
    """Records below the high watermark that the group has not committed."""
    lag = 0
    for name, offset in dict(offsets).items():  # type: ignore[call-overload]
        topic, _, number = name.rpartition("-")
        state = moment.state.partitions.get(TopicPartition(topic, int(number)))
        if state and state.leader in state.replicas:
            lag += max(state.replicas[state.leader].high_watermark - offset, 0)
    return lag


def _rate(moment: ViewMoment) -> int:
    """Records that leaders gained in the last second."""
    before, gained = moment.run_source.at(moment.at - 1000), 0
    for partition, state in moment.partitions.items():
        was, leader = before.partitions.get(partition), state.leader
        if was is None or leader != was.leader:
            continue
        # A leader that was started again has not told of its replica yet.
        if leader in was.replicas and leader in state.replicas:
            new, old = state.replicas[leader], was.replicas[leader]
            gained += max(new.log_end - old.log_end, 0)
    return gained


def _legend(plan: ClusterLayout) -> list[SceneShape]:
    """The signs, on as many lines as they need."""
    signs: list[tuple[str, list[SceneShape], float, str]] = [
        (role, [chip(role, (0, 0), (20, 15), letter, look=role)], 26, words)
        for role, letter, words in (
            ("leader", "L", "leader"),
            ("follower", "F", "in sync"),
            ("out", "F", "out of sync"),
        )
    ]
    mark = path("mark", "M0 -2v19M-3.5 -3h7l-3.5 5z", 5, 0, look="watermark")
    pale = path("pale", "M0 7.5h9", look="cells lead written")
    signs += [("mark", [mark], 14, "high watermark"), ("pale", [pale], 15, "not committed yet")]
    shapes, x, y = list[SceneShape](), 0.0, 0.0
    for key, sign, wide, words in signs:
        needs = wide + width_of(words, 11)
        if x and x + needs > plan.legend.width + 1:
            x, y = 0, y + 25
        inside = [*sign, text("words", wide, 11.5, words, look="soft")]
        told = ideas()[TERMS[key]].words if key in TERMS else ""
        shapes.append(group(f"sign {key}", x, y, inside, label=told))
        x += needs + 10
    place = plan.legend
    return [group("legend", place.x, place.y, shapes, label="what the signs mean")]
