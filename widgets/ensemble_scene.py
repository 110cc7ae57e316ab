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
from widgets.broker_card import LIGHT, PAD, feet, offered, server_card
from widgets.cluster_layout import ClusterLayout
from widgets.moment import ViewMoment
from widgets.scene import UP_TO, SceneShape, group, text, width_of

STATUS = {"paused": "paused", "dead": "down"}  # by role; all others are up
LIGHTS = {"looking": "starting", "silent": "starting"}


def drawn(moment: ViewMoment, plan: ClusterLayout) -> list[SceneShape]:
    """Relative to ZooKeeper's card."""
    return feet(plan) + [_server(moment, plan, number) for number in plan.servers]


def about(moment: ViewMoment) -> str:
    """For screen readers."""
    roles = [(number, server.role) for number, server in moment.state.zookeepers.items()]
    return ", ".join(f"{ZOOKEEPER}-{number} {role}" for number, role in roles)


def _server(moment: ViewMoment, plan: ClusterLayout, number: int) -> SceneShape:
    box, keeper, server = plan.server(number), plan.keeper, moment.state.zookeepers[number]
    name, status = f"{ZOOKEEPER}-{number}", STATUS.get(server.role, "up")
    room, cut = box.width - 2 * PAD, _cut(moment, number)
    look = "lead bold" if server.role == "leader" else "soft" if server.serves else "soft bad"
    known = [_brokers(server), *([f"cut off from {cut}"] if cut else [])]
    words = " · ".join(part for part in known if part)
    shown = words if width_of(words, 11) <= room else known[-1]
    title = name if width_of(name, 12, bold=True) <= room - LIGHT else f"server {number}"
    below, lit = (shown, "tiny bad" if cut else "tiny"), LIGHTS.get(server.role, status)
    shapes = server_card(box, title, name, (server.role, look), below, lit, server.serves)
    zxid = f"{server.zxid:#x}"
    if server.serves and width_of(zxid, 11) <= room - width_of(server.role, 12, bold=True) - 6:
        told = f"zxid {zxid}: the last transaction that it knows, of epoch {server.epoch}"
        shapes.append(text("zxid", box.width - PAD, 37, zxid, UP_TO, look="tiny", label=told))
    acts = offered(name, status, moment.acts)
    label = f"{name}: {server.role}" + (f"; {words}" if words else "")
    x, y = box.x - keeper.x, box.y - keeper.y
    return group(f"server {number}", x, y, shapes, label=label, acts=acts)


def _brokers(server: ZookeeperState) -> str:
    """Who is connected to it."""
    if not server.brokers:
        return "no broker" if server.serves else ""
    return f"broker{'s' * (len(server.brokers) > 1)} {' '.join(map(str, server.brokers))}"


def _cut(moment: ViewMoment, number: int) -> str:
    """The numbers of the servers that it is cut off from."""
    links = {
        other: moment.link(f"{ZOOKEEPER}-{number}", f"{ZOOKEEPER}-{other}")
        for other in moment.state.zookeepers
    }
    return " ".join(str(other) for other, link in links.items() if link and link.cut)
