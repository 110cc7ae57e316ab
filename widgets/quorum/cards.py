"""A node of a quorum as a card.

┌─────────────────────────────┐
│ ● controller 2      leader  │
│ epoch 3 · leads it          │
│ ▂▂▂▂▂▂▂ resigns in 240 ms   │      a bar that grows until it does so
│ [1][1][2][3] 3              │      its log: each record's epoch; filled: committed
└─────────────────────────────┘
"""

from engine.cluster.link_faults import FIRST_CONTROLLER, controller
from engine.raft.states import RaftState
from proof.quorum.moments import NodeMoment
from widgets.broker_card import light
from widgets.quorum.layout import CARD_HEIGHT, QuorumLayout
from widgets.quorum.words import state_word, wait, whom_it_knows
from widgets.scene import UP_TO, Act, SceneShape, chip, fit, group, line, rect, text, width_of

PAD = 12
CELL, CELL_GAP = 17, 3
LIGHTS = {"down": "down", "paused": "paused"}


def card(plan: QuorumLayout, place: int, acts: tuple[Act, ...]) -> SceneShape:
    id, width = plan.nodes[place], plan.card_width
    node, room = plan.film.moment(id, plan.at), plan.card_width - 2 * PAD
    word, known, due = state_word(node), whom_it_knows(node, id), wait(node, plan.at)
    look = "lead bold" if node.state is RaftState.LEADER else "soft bad" if not node.state else ""
    name = name_of(plan, id)
    if width_of(name, 14, bold=True) + width_of(word, 12, bold=True) > room - 30:
        name = str(id)
    x, y = plan.card(place)
    shapes = [
        rect("card", 0, 0, width, CARD_HEIGHT, 10, look="card away" if not node.state else "card"),
        group("light", 0, -4, light(LIGHTS.get(node.life, "up"), PAD + 5)),
        text("name", PAD + 18, 23, name, look="head"),
        text("state", width - PAD, 23, word, UP_TO, look=look or "bold"),
        text("epoch", PAD, 43, fit(known, room), look="small"),
        *_wait(node, plan.at, due, room),
        *_log(node, room),
    ]
    label = f"{name_of(plan, id)}: {word}, {known}, log up to offset {node.end}"
    return group(f"node {id}", x, y, shapes, label=label, acts=acts)


def name_of(plan: QuorumLayout, id: int) -> str:
    """As the faults of a cluster call it, or by its number."""
    if id >= FIRST_CONTROLLER:
        return controller(id - FIRST_CONTROLLER + 1)
    if id in plan.film.voters:
        return f"controller {id}"
    return f"observer {id}" if plan.pace.has_observers else f"broker {id}"


def _wait(node: NodeMoment, at: int, due: str, room: float) -> list[SceneShape]:
    if not due or node.due is None:
        return []
    share = min(max((at - node.since) / max(1, node.due - node.since), 0), 1)
    return [
        line("wait", PAD, 54, PAD + room, 54, look="quiet"),
        line("waited", PAD, 54, PAD + max(1, room * share), 54, look="slow still"),
        text("due", PAD, 69, fit(due, room, 11), look="tiny"),
    ]


def _log(node: NodeMoment, room: float) -> list[SceneShape]:
    """The newest records that have room."""
    end = str(node.end)
    count = int((room - width_of(end, 11) - 6) // (CELL + CELL_GAP))
    first = max(node.start, node.end - count)
    shapes: list[SceneShape] = []
    for place, offset in enumerate(range(first, node.end)):
        is_committed = offset < node.high_watermark
        x, word = PAD + place * (CELL + CELL_GAP), str(epoch_of(node, offset))
        look = "leader" if is_committed else "follower"
        told = f"offset {offset}: epoch {word}, {'' if is_committed else 'not '}known as committed"
        shapes.append(chip(f"cell {offset}", (x, 77), (CELL, CELL), word, look=look, label=told))
    x = PAD + (node.end - first) * (CELL + CELL_GAP) + 3
    told = "its log is empty" if node.end == 0 else end
    return [*shapes, text("end", x, 89.5, told, look="tiny")]


def epoch_of(node: NodeMoment, offset: int) -> int:
    return next((epoch for epoch, start in reversed(node.epochs) if start <= offset), 0)
