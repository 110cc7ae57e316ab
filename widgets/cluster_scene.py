"""A whole cluster at one moment, as a picture: brokers, links, clients, time and words.

    ┌──────────────────────────────┬───────────────┐
    │          ZooKeeper           │ What happened │
    │  broker 1  broker 2  broker 3│ ...           │
    │  producers  legend  consumers│ What it cost  │
    ├──────────────────────────────┴───────────────┤
    │ ━━━━━▲▒▒▒▒★━━━━○                             │
    └──────────────────────────────────────────────┘

A pure function: the same moment makes the same picture, with a kernel or without.
"""

from engine.model import TopicPartition
from widgets import chronicle, links, replicas, timeline
from widgets.moment import Moment
from widgets.plan import HEADING, INDENT, KEEPER, WIDTH, Box, Plan, card_width
from widgets.scene import (
    UP_TO,
    Act,
    Scene,
    Shape,
    chip,
    circle,
    fit,
    group,
    line,
    path,
    rect,
    text,
)
from widgets.story import internal

WHOLE = 1000
PANEL = WHOLE - WIDTH - 26  # width of the words
INTERNAL = 18  # height of the line for Kafka's own topics
LEAST = 380  # so that there is room for what happened
ROOMY = 190  # a broker's card with room for more than its name


def picture(moment: Moment) -> Scene:
    plan = plan_of(moment)
    height = max(plan.height, LEAST)
    says = moment.lines[-1].words if moment.live and moment.lines else ""
    shapes = [
        *links.drawn(moment, plan),
        _zookeeper(moment),
        *(_broker(moment, plan, number) for number in plan.brokers),
        *links.traffic(moment, plan),
        *_clients(moment, plan),
        *_legend(plan),
        line("edge", WIDTH + 6, 0, WIDTH + 6, height, look="rule"),
        *chronicle.drawn(moment, WIDTH + 18, PANEL, height),
        line("floor", 0, height, WHOLE, height, look="rule"),
        *timeline.drawn(moment, 24, height, WHOLE - 48),
    ]
    title = f"A cluster of {len(plan.brokers)} brokers, {about(moment)}"
    return Scene(WHOLE, height + timeline.HEIGHT, shapes, title=title, says=says)


def about(moment: Moment) -> str:
    """The header's few words."""
    count = len(moment.partitions)
    topics = {partition.topic for partition in moment.partitions}
    name = next(iter(topics)) if len(topics) == 1 else f"{len(topics)} topics"
    words = f"{name} · {count} partition{'' if count == 1 else 's'}" if count else "no topic yet"
    copies = {len(state.assignment) for state in moment.partitions.values()}
    if len(copies) == 1:
        words += f" · replication {copies.pop()}"
    headless = sum(not _served(moment, it) for it in moment.partitions)
    return words + (f" · {headless} without a leader" if headless else "")


def _served(moment: Moment, partition: TopicPartition) -> bool:
    """It has a leader, and that one is at work."""
    leader = moment.partitions[partition].leader
    return leader in moment.state.brokers and moment.status(leader) == "up"


def plan_of(moment: Moment) -> Plan:
    brokers = tuple(sorted(moment.state.brokers))
    inside = replicas.height(moment.partitions, card_width(len(brokers)) - 2 * INDENT)
    own = any(internal(partition.topic) for partition in moment.state.partitions)
    return Plan(brokers, inside + (INTERNAL if own and not moment.topic else 0))


def _zookeeper(moment: Moment) -> Shape:
    state, box = moment.state, KEEPER
    alive = sum(it.session is not None and it.answers for it in state.brokers.values())
    epoch = max((it.controller_epoch for it in state.brokers.values()), default=0)
    controller = f"broker {state.controller}" if state.controller >= 0 else "nobody"
    words = f"/controller → {controller} · epoch {epoch}"
    shapes = [
        rect("card", 0, 0, box.width, box.height, 10, look="card"),
        text("name", 16, 25, "ZooKeeper", look="head"),
        text("sessions", box.width - 14, 25, f"{alive} sessions", UP_TO, look="soft"),
        text("controller", 16, 46, words, look="soft"),
    ]
    label = f"ZooKeeper: {alive} of {len(state.brokers)} brokers have a session; {words}"
    return group("zookeeper", box.x, box.y, shapes, label=label)


# -- a broker -----------------------------------------------------------------------------------

OFFERS = {
    "up": (("kill", "kill (SIGKILL)"), ("pause", "pause (SIGSTOP)"), ("restart", "restart")),
    "starting": (("kill", "kill (SIGKILL)"),),
    "paused": (("resume", "resume (SIGCONT)"), ("kill", "kill (SIGKILL)")),
}
DOWN = (("restart", "start it again"),)
HINTS = {"up": "click: kill · pause · restart", "paused": "click: resume · kill"}
STARTS_AGAIN = "click to start it again"


def offers(moment: Moment, number: int) -> tuple[Act, ...]:
    found = OFFERS.get(moment.status(number), DOWN)
    return tuple(Act(name, str(number), words) for name, words in found if name in moment.acts)


def _broker(moment: Moment, plan: Plan, number: int) -> Shape:
    box, status = plan.box(number), moment.status(number)
    away = status not in ("up", "starting")
    crowned = moment.state.controller == number
    shapes = [rect("card", 0, 0, box.width, box.height, 10, look="card away" if away else "card")]
    shapes += _heading(moment, number, status, box, crowned)
    inside = box.width - 2 * INDENT
    held = replicas.drawn(number, moment.partitions, inside)
    own = _internal(moment, number, plan.inside - INTERNAL + 11, inside)
    dim = "dim" if away else ""
    shapes.append(group("replicas", INDENT, HEADING, held + own, look=dim))
    acts = offers(moment, number)
    hint = HINTS.get(status, "" if status == "starting" else STARTS_AGAIN) if acts else ""
    if box.width < ROOMY:
        known = [status] if away else []
        hint = " · ".join([*known, "click"] if hint else known)
    shapes.append(text("hint", INDENT, box.height - 11, hint, look="soft"))
    led = replicas.tally(number, moment.partitions)["leader"]
    label = f"broker {number}: {status}, leads {led}" + (", controller" if crowned else "")
    return group(f"broker {number}", box.x, box.y, shapes, label=label, acts=acts)


def _heading(moment: Moment, number: int, status: str, box: Box, crowned: bool) -> list[Shape]:
    shapes = [*_light(status), text("name", 32, 27, f"broker {number}", look="head")]
    end = 108 + 8 * (number > 9)
    if crowned:
        shapes.append(text("crown", end - 4, 27, "♛", look="crown head"))
        if box.width >= ROOMY and status == "up":
            shapes.append(text("controller", end + 13, 26, "controller", look="soft"))
    pid = moment.broker(number).pid
    words = (f"pid {pid}" if pid else "simulated") if status == "up" else status
    if box.width >= ROOMY and not (crowned and status == "up"):  # the crown matters more
        look = "soft" if status in ("up", "starting") else "soft bad"
        shapes.append(text("status", box.width - INDENT, 26, words, UP_TO, look=look))
    return shapes


def _light(status: str) -> list[Shape]:
    """Alive: filled. Paused: two bars. Down: a cross."""
    match status:
        case "up":
            return [circle("light", 18, 22, 6, look="alive")]
        case "starting":
            return [circle("light", 18, 22, 6, look="paused away")]
        case "paused":
            return [path("light", "M15 16v12M21 16v12", look="paused thick")]
        case _:
            bars = path("cross", "M14 18l8 8m0 -8l-8 8", look="down")
            return [circle("light", 18, 22, 7, look="down"), bars]


def _internal(moment: Moment, number: int, y: float, width: float) -> list[Shape]:
    """Kafka's own topics, on one line."""
    own = {it: state for it, state in moment.state.partitions.items() if internal(it.topic)}
    if not own or moment.topic:
        return []
    counts = replicas.tally(number, own)
    here = sum(counts.values())
    names = sorted({partition.topic for partition in own})
    words = fit(f"{' '.join(names)}: leads {counts['leader']} of {here}", width, 10)
    return [text("internal", 0, y, words, look="tiny")]


# -- clients and legend -------------------------------------------------------------------------


def _clients(moment: Moment, plan: Plan) -> list[Shape]:
    ends = {
        it: max((replica.log_end for replica in state.replicas.values()), default=0)
        for it, state in moment.partitions.items()
    }
    total, rate = sum(ends.values()), _rate(moment)
    records = ("1 record" if total == 1 else f"{total:,} records") + (
        f" · {rate:,} a second" if rate else ""
    )
    readers = [
        f"{name}: {len(each.members)} member{'' if len(each.members) == 1 else 's'} · "
        f"{each.state} · lag {_lag(moment, each.offsets)}"
        for name, each in moment.state.groups.items()
        if each.members or each.offsets
    ]
    told = readers[0] if readers else "no group yet"
    if len(readers) > 1:
        members = sum(len(it.members) for it in moment.state.groups.values())
        told = f"{len(readers)} groups · {members} members"
    return [
        _client("producers", plan.producers, "producers", records, records),
        _client("consumers", plan.consumers, "consumer groups", told, "; ".join(readers) or told),
    ]


def _client(key: str, box: Box, name: str, words: str, label: str) -> Shape:
    shapes = [
        rect("card", 0, 0, box.width, box.height, 10, look="card"),
        text("name", 14, 22, name, look="bold"),
        text("words", 14, 42, fit(words, box.width - 24, 11), look="soft"),
    ]
    return group(key, box.x, box.y, shapes, label=f"{name}: {label}")


def _lag(moment: Moment, offsets: object) -> int:
    """Records under the high watermark that the group has not committed as read."""
    lag = 0
    for name, offset in dict(offsets).items():  # type: ignore[call-overload]
        topic, _, number = name.rpartition("-")
        state = moment.state.partitions.get(TopicPartition(topic, int(number)))
        if state and state.leader in state.replicas:
            lag += max(state.replicas[state.leader].high_watermark - offset, 0)
    return lag


def _rate(moment: Moment) -> int:
    """Records that leaders gained in the last second."""
    before, gained = moment.reel.at(moment.at - 1000), 0
    for partition, state in moment.partitions.items():
        was = before.partitions.get(partition)
        if was and state.leader == was.leader and state.leader in was.replicas:
            new, old = state.replicas[state.leader], was.replicas[state.leader]
            gained += max(new.log_end - old.log_end, 0)
    return gained


def _legend(plan: Plan) -> list[Shape]:
    shapes: list[Shape] = []
    letters = (("leader", "L", "leader", 0), ("follower", "F", "in sync", 76))
    for role, letter, words, x in (*letters, ("out", "F", "out of sync", 154)):
        shapes.append(chip(role, (x, 0), (20, 15), letter, look=role))
        shapes.append(text(f"{role} words", x + 26, 11.5, words, look="soft"))
    shapes += [
        path("mark", "M0 26v19M-3.5 25h7l-3.5 5z", 8, 0, look="watermark"),
        text("mark words", 18, 40, "high watermark", look="soft"),
        path("pale", "M120 36h9", look="cells lead written"),
        text("pale words", 136, 40, "not committed yet", look="soft"),
    ]
    return [group("legend", WIDTH / 2 - 118, plan.clients + 4, shapes, label="what the signs mean")]
