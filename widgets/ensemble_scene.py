"""The servers of a ZooKeeper ensemble, as cards inside ZooKeeper's card.

    ┌───────────────────────────────────────────────┐
    │ ZooKeeper                          3 sessions │
    │ /controller → broker 1 · epoch 1              │
    │ ┌─────────────┐┌─────────────┐┌─────────────┐ │
    │ │● zookeeper-1││● zookeeper-2││✕ zookeeper-3│ │
    │ │  leader     ││  follower   ││  dead       │ │
    │ │  brokers 1 3││  broker 2   ││             │ │
    │ └──────┬──────┘└──────┬──────┘└─────────────┘ │
    └────────┼──────────────┼───────────────────────┘

A server is looking while it finds no more than half of all servers: it serves nobody then. The zxid
is the number of the last transaction that it knows; in the number's upper half is the leader's
epoch. A click on a card kills, pauses or restarts that server.
"""

from engine.cluster.state import ZookeeperState
from engine.links import ZOOKEEPER
from widgets.broker_card import DOWN, OFFERS, light
from widgets.cluster_layout import ClusterLayout
from widgets.moment import ViewMoment
from widgets.scene import UP_TO, Act, SceneShape, fit, group, line, rect, text, width_of

PAD = 8
ROOMY = 150  # px: a card with room for the zxid beside the role
STATUS = {"paused": "paused", "dead": "down"}  # by role; all others are up
LIGHTS = {"looking": "starting", "silent": "starting"}


def drawn(moment: ViewMoment, plan: ClusterLayout) -> list[SceneShape]:
    """Relative to ZooKeeper's card."""
    shapes = [_foot(plan, number) for number in sorted({server for _, server in plan.sessions})]
    return shapes + [_server(moment, plan, number) for number in plan.servers]


def about(moment: ViewMoment) -> str:
    """For screen readers."""
    roles = [(number, server.role) for number, server in moment.state.zookeepers.items()]
    return ", ".join(f"{ZOOKEEPER}-{number} {role}" for number, role in roles)


def _foot(plan: ClusterLayout, number: int) -> SceneShape:
    """Where sessions leave a card; behind the cards of a second row."""
    box, keeper = plan.server(number), plan.keeper
    x = box.middle - keeper.x
    return line(f"foot {number}", x, box.bottom - keeper.y, x, keeper.height, look="link")


def _server(moment: ViewMoment, plan: ClusterLayout, number: int) -> SceneShape:
    box, keeper, server = plan.server(number), plan.keeper, moment.state.zookeepers[number]
    name = f"{ZOOKEEPER}-{number}"
    status = STATUS.get(server.role, "up")
    away = "" if server.serves else " away"
    role = "lead bold" if server.role == "leader" else "soft" if server.serves else "soft bad"
    words = _words(moment, number, server)
    shapes = [
        rect("card", 0, 0, box.width, box.height, 8, look=f"card{away}"),
        *_light(server.role, status, PAD + 5),
        text("name", PAD + 16, 20, fit(name, box.width - 2 * PAD - 16, 12), look="bold"),
        text("role", PAD, 37, server.role, look=role),
        text("brokers", PAD, 53, fit(words, box.width - 2 * PAD, 11), look="tiny", label=words),
    ]
    zxid = f"{server.zxid:#x}"
    room = box.width - 2 * PAD - width_of(server.role, 12, bold=True) - 6
    if server.serves and width_of(zxid, 11) <= room:
        about_it = f"zxid {zxid}: the last transaction that it knows, of epoch {server.epoch}"
        shapes.append(text("zxid", box.width - PAD, 37, zxid, UP_TO, look="tiny", label=about_it))
    acts = tuple(
        Act(act, name, told) for act, told in OFFERS.get(status, DOWN) if act in moment.acts
    )
    label = f"{name}: {server.role}; {words}"
    x, y = box.x - keeper.x, box.y - keeper.y
    return group(f"server {number}", x, y, shapes, label=label, acts=acts)


def _light(role: str, status: str, x: float) -> list[SceneShape]:
    """As that of a broker, somewhat higher."""
    return [group("light", 0, -6, light(LIGHTS.get(role, status), x))]


def _words(moment: ViewMoment, number: int, server: ZookeeperState) -> str:
    """Who is connected to it, or which servers it is cut off from."""
    here = f"{ZOOKEEPER}-{number}"
    others = [each for each in moment.state.zookeepers if each != number]
    cut = [
        str(other)
        for other in others
        if (wrong := moment.link(here, f"{ZOOKEEPER}-{other}")) and wrong.cut
    ]
    if cut:
        return f"cut off from {' '.join(cut)}"
    if not server.brokers:
        return "no broker" if server.serves else ""
    names = " ".join(map(str, server.brokers))
    return f"broker{'s' * (len(server.brokers) > 1)} {names}"
