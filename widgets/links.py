"""The links of a cluster, their faults, and the records that move on them.

    ──────  whole      ─ ─ ─  cut, or the other end is down        ── · ──  slow

Movement comes from two consecutive states: if a follower's log end has grown, records were fetched;
if a leader's log has grown, they were produced; if a group's committed offset has grown, they were
consumed. A dot stands for all records of a kind that moved between the two states.
"""

from collections.abc import Iterator

from engine.cluster.kraft.controller_quorum import CONTROLLERS
from engine.cluster.state import ClusterState
from engine.links import ZOOKEEPER
from widgets.cluster_layout import ClusterLayout
from widgets.controllers_scene import name_of
from widgets.link_faults import follows
from widgets.moment import ViewMoment
from widgets.scene import ABOUT, Act, SceneShape, group, path, rect, text, travel, width_of
from widgets.story import internal

SLOW_MS = 300
LOST = {ZOOKEEPER: "no session", CONTROLLERS: "fenced"}  # of a broker that is up
OVER = {ZOOKEEPER: "expired", CONTROLLERS: "fenced"}  # of one that is not
WITH = {ZOOKEEPER: "ZooKeeper", CONTROLLERS: "the controllers"}
ROOMY = 170  # from one session to the next, if there is room for more than a word or two


def drawn(moment: ViewMoment, plan: ClusterLayout) -> list[SceneShape]:
    links = [_session(moment, plan, broker) for broker in plan.brokers]
    return links + [_link(moment, plan, one, other) for one, other in plan.pairs()]


def _acts(moment: ViewMoment, ends: str, wrong: bool) -> tuple[Act, ...]:
    acts = []
    if not wrong:
        acts = [Act("cut", ends, "cut"), Act("slow", ends, f"slow down by {SLOW_MS} ms")]
    else:
        acts = [Act("heal", ends, "heal this link")]
    return tuple(act for act in acts if act.name in moment.acts)


def _link(moment: ViewMoment, plan: ClusterLayout, one: int, other: int) -> SceneShape:
    wrong = moment.link(str(one), str(other))
    down = {moment.status(one), moment.status(other)} - {"up"}
    look, words = "link", ""
    if wrong and wrong.cut:
        look, words = "cut broken", "cut"
    elif wrong:
        look, words = "slow", f"{wrong.delay_ms} ms"
    elif down:
        look = "quiet away"
    way = plan.way(one, other)
    shapes = [path("way", way, look=look), path("reach", way, look="reach")]
    label = f"link between broker {one} and broker {other}: {words or 'whole'}"
    if wrong and wrong.cut:
        label = " ".join([f"{label}.", *follows(moment, str(one), str(other))])
    if words:
        shapes += _pill(*plan.words(one, other), words, wrong is not None and wrong.cut)
    acts = _acts(moment, f"{one}-{other}", bool(wrong))
    return group(f"link {one}-{other}", 0, 0, shapes, label=label, acts=acts)


def _session(moment: ViewMoment, plan: ClusterLayout, broker: int) -> SceneShape:
    """A broker that is down keeps its session for some time, for which a failover waits. Without
    ZooKeeper these are its heartbeats to the controller that leads."""
    state, end = moment.broker(broker), CONTROLLERS if moment.state.controllers else ZOOKEEPER
    wrong, server = moment.link(str(broker), end), dict(plan.sessions).get(broker)
    if not wrong and server is not None:
        name = name_of(server) if moment.state.controllers else f"{ZOOKEEPER}-{server}"
        wrong = moment.link(str(broker), name)
    status, words, look = moment.status(broker), "", "link"
    if wrong:
        look, words = ("cut broken", "cut") if wrong.cut else ("slow", f"{wrong.delay_ms} ms")
    is_lost = state.fenced if moment.state.controllers else state.session is None
    if status == "up" and is_lost:
        look, words = look if wrong else "cut", words or LOST[end]
    elif status not in ("up", "starting"):
        look = look if wrong else "cut"
        words = words or ("waiting" if moment.believed(broker) else OVER[end])
        fate = moment.story.last_word(broker, moment.at)
        if words == "waiting" and fate:
            words = f"waits {(moment.at - fate.at) / 1000:.1f} s"
            if plan.card_width + plan.gap > ROOMY:
                words = f"session {words}"
    way = plan.session(broker)
    shapes = [path("way", way, look=look), path("reach", way, look="reach")]
    if words:
        shapes += _pill(*plan.pill(broker), words, wrong is not None and wrong.cut)
    label = f"session of broker {broker} with {WITH[end]}: {words or 'alive'}"
    if wrong and wrong.cut:
        label = " ".join([f"{label}.", *follows(moment, str(broker), end)])
    acts = _acts(moment, f"{broker}-{end}", bool(wrong))
    return group(f"session {broker}", 0, 0, shapes, label=label, acts=acts)


def _pill(x: float, y: float, words: str, is_cut: bool) -> list[SceneShape]:
    """A text on a link."""
    width = width_of(words, 11) + 10
    return [
        rect("pill", x - width / 2, y - 9.5, width, 19, 7, look="paper"),
        text("words", x, y + 3.5, words, ABOUT, look="tiny bad" if is_cut else "tiny"),
    ]


# -- movement -----------------------------------------------------------------------------------


def traffic(moment: ViewMoment, plan: ClusterLayout) -> list[SceneShape]:
    shapes: dict[str, SceneShape] = {}
    for before, after in moment.steps:
        for kind, one, other in moves(before, after):
            if kind == "fetched" and (min(one, other), max(one, other)) not in plan.pairs():
                continue
            key = f"{kind} {one} {other} {after.at}"
            shapes[key] = travel(key, _route(plan, kind, one, other))
    return list(shapes.values())


def _route(plan: ClusterLayout, kind: str, leader: int, follower: int) -> str:
    match kind:
        case "produced":
            return plan.written(leader)
        case "consumed":
            return plan.read(leader)
        case _:
            return plan.way(leader, follower)


def moves(before: ClusterState, after: ClusterState) -> Iterator[tuple[str, int, int]]:
    """(kind, the leader, the follower or the leader again)"""
    found: set[tuple[str, int, int]] = set()
    for partition, state in after.partitions.items():
        was = before.partitions.get(partition)
        if was is None or was is state or internal(partition.topic):
            continue
        leader = state.leader
        if was.leader != leader or leader not in state.replicas or leader not in was.replicas:
            continue
        if state.replicas[leader].log_end > was.replicas[leader].log_end:
            found.add(("produced", leader, leader))
        for follower, known in state.followers.items():
            if follower in was.followers and known.log_end > was.followers[follower].log_end:
                found.add(("fetched", leader, follower))
    leaders = {str(partition): state.leader for partition, state in after.partitions.items()}
    for name, groups in after.groups.items():
        old = before.groups.get(name)
        if old is None or old is groups:
            continue
        for part, offset in groups.offsets.items():
            if offset > old.offsets.get(part, offset) and leaders.get(part, -1) >= 0:
                found.add(("consumed", leaders[part], leaders[part]))
    yield from sorted(found)
