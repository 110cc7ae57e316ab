"""The controllers of a cluster without ZooKeeper, as cards in a row above the brokers.

    ┌─────────────────────────────────────────────────────┐
    │ Controllers                    epoch 3 · 102 leads   │
    │ committed up to offset 41                            │
    │ ┌───────────────┐┌───────────────┐┌───────────────┐ │
    │ │● controller-1 ││● controller-2 ││✕ controller-3 │ │
    │ │  follower     ││  leader       ││  down         │ │
    │ │  log ends 41  ││  log ends 41  ││               │ │
    │ └───────────────┘└───────┬───────┘└───────────────┘ │
    └──────────────────────────┼──────────────────────────┘

Brokers send their heartbeats to the one that leads. A click on a card kills, pauses or restarts
that controller.
"""

from engine.cluster.link_faults import FIRST_CONTROLLER, controller
from engine.cluster.state import ControllerState, Status
from widgets.broker_card import LIGHT, PAD, feet, offered, server_card
from widgets.cluster_layout import ClusterLayout
from widgets.moment import ViewMoment
from widgets.scene import UP_TO, SceneShape, fit, group, rect, text, width_of

STATUS = {Status.UP: "up", Status.PAUSED: "paused", Status.DOWN: "down"}


def active(moment: ViewMoment) -> int:
    """The node id of the controller that leads the newest epoch; 0: none does."""
    leading = [(it.epoch, id) for id, it in moment.state.controllers.items() if it.is_active]
    return max(leading, default=(0, 0))[1]


def keeper(moment: ViewMoment, plan: ClusterLayout) -> SceneShape:
    """The card of the quorum, in the place that ZooKeeper has in other clusters."""
    box, known, leads = plan.keeper, moment.state.controllers, active(moment)
    epoch = max(it.epoch for it in known.values())
    who = f"{name_of(leads)} leads" if leads else "nobody leads"
    mark = max(it.high_watermark for it in known.values())
    first = 21 if plan.low else 25
    told = f"epoch {epoch} · {who}"
    shapes = [
        rect("card", 0, 0, box.width, box.height, 10, look="card"),
        text("name", 16, first, "Controllers", look="head"),
        text("leads", box.width - 14, first, told, UP_TO, look="soft" if leads else "soft bad"),
    ]
    if not plan.low:
        words = f"metadata committed up to offset {mark}"
        shapes.append(text("mark", 16, 46, fit(words, box.width - 32, 11), look="soft"))
    shapes += [_card(moment, plan, number) for number in plan.servers]
    roles = ", ".join(f"{name_of(id)} {role_of(it)}" for id, it in sorted(known.items()))
    label = f"Controllers: {told}; {roles}"
    return group("controllers", box.x, box.y, [*feet(plan), *shapes], label=label)


def name_of(node: int) -> str:
    return controller(node - FIRST_CONTROLLER + 1)


def role_of(node: ControllerState) -> str:
    if node.status is not Status.UP:
        return str(node.status.value)
    return node.role if node.answers else "starting"


def _card(moment: ViewMoment, plan: ClusterLayout, number: int) -> SceneShape:
    box, around, node = plan.server(number), plan.keeper, moment.state.controllers[number]
    name, role, room = name_of(number), role_of(node), box.width - 2 * PAD
    is_up, cut = node.status is Status.UP, _cut(moment, number)
    look = "lead bold" if node.is_active else "soft" if is_up else "soft bad"
    words = f"cut off from {cut}" if cut else f"log ends at {node.log_end}" if is_up else ""
    title = name if width_of(name, 12, bold=True) <= room - LIGHT else str(number)
    status = "starting" if is_up and not node.answers else STATUS[node.status]
    told = words, "tiny bad" if cut else "tiny"
    shapes = server_card(box, title, name, (role, look), told, status, is_up)
    acts = offered(name, status, moment.acts)
    label = f"{name}, node {number}: {role}" + (f"; {words}" if words else "")
    x, y = box.x - around.x, box.y - around.y
    return group(f"server {number}", x, y, shapes, label=label, acts=acts)


def _cut(moment: ViewMoment, number: int) -> str:
    """The other controllers that it is cut off from."""
    others = {
        other: moment.link(name_of(number), name_of(other))
        for other in moment.state.controllers
        if other != number
    }
    return " ".join(str(other) for other, link in others.items() if link and link.cut)
