"""The whole picture of a QuorumView: cards, lanes, the run's time, and what happened last."""

from collections.abc import Callable

from widgets.quorum.cards import card, name_of
from widgets.quorum.lanes import lanes
from widgets.quorum.layout import MARGIN, QuorumLayout
from widgets.quorum.words import state_word
from widgets.scene import ABOUT, Act, Scene, SceneShape, circle, line, rect, text, width_of, wrap
from widgets.text_column import TextColumn

LINES = 5  # of what happened
BOLD = 0.9  # so much fewer letters have room
MARKS = {"leader": "lead ok", "kill": "bad", "cut": "bad", "pause": "bad", "resigned": "bad"}
OffersOf = Callable[[int], tuple[Act, ...]]


def picture(plan: QuorumLayout, offers: OffersOf) -> Scene:
    shapes = [card(plan, place, offers(id)) for place, id in enumerate(plan.nodes)]
    shapes += lanes(plan)
    shapes += _timeline(plan, plan.bottom + 14)
    y, told = _story(plan, plan.bottom + 68)
    says = plan.film.events[-1].words if plan.film.events else ""
    return Scene(plan.width, y + 8, [*shapes, *told], title=about(plan), says=says)


def about(plan: QuorumLayout) -> str:
    states = [(id, plan.film.moment(id, plan.at)) for id in plan.nodes]
    return ", ".join(f"{name_of(plan, id)} {state_word(node)}" for id, node in states)


def headline(plan: QuorumLayout) -> str:
    """Who leads, by the newest epoch that a node knows, and what is committed."""
    nodes = {id: plan.film.moment(id, plan.at) for id in plan.nodes}
    epoch = max(node.epoch for node in nodes.values())
    leads = [id for id, it in nodes.items() if it.leader == id and it.epoch == epoch and it.state]
    mark = max(node.high_watermark for node in nodes.values())
    who = f"{leads[0]} leads" if leads else "nobody leads"
    return f"epoch {epoch} · {who} · committed up to offset {mark}"


def _timeline(plan: QuorumLayout, y: float) -> list[SceneShape]:
    left, right, level = MARGIN + 8, plan.right - 8, y + 12

    def place(at: int) -> float:
        return left + (right - left) * (at / max(1, plan.end))

    head = place(plan.at)
    clock = f"{plan.at / 1000:.2f} s"
    half = width_of(clock, 12, bold=True) / 2
    about_x = min(max(head, left + half), right - half)
    acts = (Act("back", None, "an event back"), Act("forward", None, "an event on"))
    label = f"{clock} of {plan.end / 1000:.2f} s; arrows step from event to event"
    shapes = [
        line("future", left, level, right, level, look="future"),
        line("past", left, level, head, level, look="past"),
    ]
    for number, event in enumerate(plan.film.events):
        if (look := MARKS.get(event.kind)) is not None:
            x = place(event.at)
            shapes.append(circle(f"mark {number}", x, level - 12, 3, look=f"{look} still"))
    shapes += [
        rect("timeline", left, level - 14, right - left, 28, look="clear", drag="seek",
             acts=acts, label=label),
        circle("head", head, level, 8, look="handle still"),
        text("clock", about_x, level + 25, clock, ABOUT, look="bold"),
    ]  # fmt: skip
    return shapes


def _story(plan: QuorumLayout, y: float) -> tuple[float, list[SceneShape]]:
    """What happened last, the newest first; below each other, whole."""
    known = [(n, event) for n, event in enumerate(plan.film.events) if event.at <= plan.at]
    shapes: list[SceneShape] = []
    for place, (number, event) in enumerate(reversed(known[-LINES:])):
        clock = f"{event.at / 1000:.2f} s"
        look = "small bold" if place == 0 else "small"
        shapes.append(text(f"at {number}", MARGIN, y + 12, clock, look="tiny"))
        room = (plan.width - 2 * MARGIN - 56) * (BOLD if place == 0 else 1)
        told = TextColumn(MARGIN + 56, y + 12, room, 17)
        told.put(f"told {number}", wrap(event.words, room), look)
        shapes += told.shapes
        y = told.y - 10
    return y, shapes
