"""The links of a cluster, what is wrong with them, and what moves on them.

    ──────  whole      ─ ─ ─  cut, or nobody at the other end      ── · ──  slow

What is seen moving is read off two states that follow each other: an offset that a follower has
confirmed to its leader was fetched, one that a leader's log has gained was produced, one that a
group has committed was consumed. A dot stands for all of a kind that moved between the two.
"""

from collections.abc import Iterator

from engine.cluster.state import ClusterState
from engine.links import ZOOKEEPER
from widgets.moment import Moment
from widgets.plan import KEEPER, Plan
from widgets.scene import ABOUT, Act, Shape, group, path, rect, text, travel, width_of
from widgets.story import internal

SLOW_MS = 300


def drawn(moment: Moment, plan: Plan) -> list[Shape]:
    links = [_session(moment, plan, broker) for broker in plan.brokers]
    return links + [_link(moment, plan, one, other) for one, other in plan.pairs()]


def _acts(moment: Moment, ends: str, wrong: bool) -> tuple[Act, ...]:
    acts = []
    if not wrong:
        acts = [Act("cut", ends, "cut"), Act("slow", ends, f"slow down by {SLOW_MS} ms")]
    else:
        acts = [Act("heal", None, "heal all links")]
    return tuple(act for act in acts if act.name in moment.acts)


def _link(moment: Moment, plan: Plan, one: int, other: int) -> Shape:
    wrong = moment.link(str(one), str(other))
    down = {moment.status(one), moment.status(other)} - {"up"}
    look, words = "link", ""
    if wrong and wrong.cut:
        look, words = "cut", "cut"
    elif wrong:
        look, words = "slow", f"{wrong.delay_ms} ms"
    elif down:
        look = "quiet away"
    way, (x, y) = plan.way(one, other), plan.middle(one, other)
    shapes = [path("way", way, look=look), path("reach", way, look="reach")]
    label = f"link between broker {one} and broker {other}: {words or 'whole'}"
    if words:
        shapes += _pill(x, y, words.split() if plan.beside(one, other) else [words])
    acts = _acts(moment, f"{one}-{other}", bool(wrong))
    return group(f"link {one}-{other}", 0, 0, shapes, label=label, acts=acts)


def _session(moment: Moment, plan: Plan, broker: int) -> Shape:
    """A broker that is gone keeps its session for a while: that is what a failover waits for."""
    state, wrong = moment.broker(broker), moment.link(str(broker), ZOOKEEPER)
    status, words, look = moment.status(broker), "", "link"
    if wrong:
        look, words = ("cut", "cut") if wrong.cut else ("slow", f"{wrong.delay_ms} ms")
    if status == "up" and state.session is None:
        look, words = "cut", words or "no session"
    elif status not in ("up", "starting"):
        look = "cut"
        words = words or ("waiting" if moment.believed(broker) else "expired")
        fate = moment.story.last_word(broker, moment.at)
        if words == "waiting" and fate:
            words = f"session waits {(moment.at - fate.at) / 1000:.1f} s"
    way = plan.session(broker)
    shapes = [path("way", way, look=look), path("reach", way, look="reach")]
    if words:
        box = plan.box(broker)
        x = box.middle + (KEEPER.middle - box.middle) * 0.14
        shapes += _pill(x, 122, [words])
    label = f"session of broker {broker} with ZooKeeper: {words or 'alive'}"
    acts = _acts(moment, f"{broker}-{ZOOKEEPER}", bool(wrong))
    return group(f"session {broker}", 0, 0, shapes, label=label, acts=acts)


def _pill(x: float, y: float, lines: list[str]) -> list[Shape]:
    """Words on a link; between neighbours there is room for one below the other only."""
    width, height = max(width_of(each, 10) for each in lines) + 8, 12 * len(lines) + 6
    top = y - height / 2
    return [
        rect("pill", x - width / 2, top, width, height, 7, look="paper"),
        *(
            text(f"words {place}", x, top + 12.5 + 12 * place, each, ABOUT, look="tiny")
            for place, each in enumerate(lines)
        ),
    ]


# -- what moves -----------------------------------------------------------------------------------


def traffic(moment: Moment, plan: Plan) -> list[Shape]:
    shapes: dict[str, Shape] = {}
    for before, after in moment.steps:
        for kind, one, other in moves(before, after):
            if kind == "fetched" and (min(one, other), max(one, other)) not in plan.pairs():
                continue
            key = f"{kind} {one} {other} {after.at}"
            shapes[key] = travel(key, _route(plan, kind, one, other))
    return list(shapes.values())


def _route(plan: Plan, kind: str, leader: int, follower: int) -> str:
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
