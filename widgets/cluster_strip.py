"""A cluster in a strip: for a dock above the cells, on a narrow or low page.

    ┌──────────────┬──────────────┬──────────────┐
    │ ● broker 1   │ ⊗ broker 2   │ ● broker 3 ♛ │   who is alive, who leads, who is controller
    │ [L] ▮▮▮▯   2 │ [F] ▮▮     2 │ [F] ▮▮     2 │
    ├──────────────┴──────────────┴──────────────┤
    │ 12.31 ▲ broker 2 killed (SIGKILL)  2 of 3  │   as many of the newest events as fit;
    │ 14.35 ♛ broker 1 is controller   sessions  │   sessions, and the links that are cut
    │ ━━━━━▲▒▒▒▒★━━━━○                           │
    └────────────────────────────────────────────┘

What cluster_scene.py draws with links, clients and a legend needs 400 px of height; this needs half
of that. A click on a broker does the same here as there.

Invariant: it is as high as the dock, or higher if the brokers need it; never lower.
"""

from widgets import controllers_scene, event_list, replicas, timeline
from widgets.broker_card import light
from widgets.cluster_scene import about, offers
from widgets.moment import ViewMoment
from widgets.scene import Scene, SceneShape, fit, group, line, rect, text, width_of

LOW = 330  # px: a lower frame gets the strip
EDGE, GAP, INDENT = 8, 5, 5  # px: beside the cards, between them, and within them
LEAST, WIDEST = 90, 300  # of a card
HEADING = 32  # of a card, above its replicas
NAME = 16  # of a card, left of its name
MOST = 64  # of its replicas: if they need more, they are counted
STATE = 20  # the height of the line about ZooKeeper
BESIDE = 560  # px: on a wider page that line is beside the events
EVENT = 20  # of one event, at least


def picture(moment: ViewMoment) -> Scene:
    whole = moment.width
    cards, y = _cards(moment, whole)
    state = _state(moment, y, whole)
    right = state.where[0] if whole >= BESIDE else whole  # of the events
    top = y if whole >= BESIDE else y + STATE
    foot = max(moment.height - timeline.HEIGHT, top + EVENT)
    shapes = [
        *cards,
        state,
        *event_list.newest(moment, EDGE, top, right - 2 * EDGE, foot),
        line("floor", 0, foot, whole, foot, look="rule"),
        *timeline.drawn(moment, 24, foot, whole - 48),
    ]
    title = f"A cluster of {len(moment.state.brokers)} brokers, {about(moment)}"
    return Scene(whole, foot + timeline.HEIGHT, shapes, title=title, says=moment.says)


def _cards(moment: ViewMoment, whole: float) -> tuple[list[SceneShape], float]:
    """The brokers in rows, and where they end."""
    brokers = sorted(moment.state.brokers)
    room = whole - 2 * EDGE + GAP
    across = min(max(len(brokers), 1), max(int(room // (LEAST + GAP)), 1))
    width = min(room / across - GAP, WIDEST)
    inside = replicas.height(moment.partitions, width - 2 * INDENT)
    counted = inside > MOST
    high = HEADING + (18 if counted else inside) + 2
    shapes = []
    for place, number in enumerate(brokers):
        row, column = divmod(place, across)
        x, y = EDGE + column * (width + GAP), 6 + row * (high + GAP)
        card = _card(moment, number, width, high, counted)
        status = moment.status(number)
        led = replicas.tally(number, moment.partitions)["leader"]
        crowned = moment.state.controller == number
        label = f"broker {number}: {status}, leads {led}" + (", controller" if crowned else "")
        acts = offers(moment, number)
        shapes.append(group(f"broker {number}", x, y, card, label=label, acts=acts))
    rows = -(-len(brokers) // across)
    return shapes, 6 + rows * (high + GAP)


def _card(
    moment: ViewMoment, number: int, width: float, high: float, counted: bool
) -> list[SceneShape]:
    status = moment.status(number)
    away = status not in ("up", "starting")
    name = f"broker {number}"
    end = INDENT + NAME + width_of(name, 12, bold=True) + 2
    shapes = [
        rect("card", 0, 0, width, high, 8, look="card away" if away else "card"),
        group("status", 0, -4, light(status, INDENT + 6)),
        text("name", INDENT + NAME, 22, name, look="bold"),
    ]
    if moment.state.controller == number:
        shapes.append(text("crown", end, 22, "♛", look="crown bold"))
        end += 16
    if status != "up" and end + width_of(status, 11) < width:
        shapes.append(text("word", end, 22, status, look="soft bad" if away else "soft"))
    if counted:
        tally = replicas.tally(number, moment.partitions)
        words = fit(f"leads {tally['leader']} of {sum(tally.values())}", width - 2 * INDENT, 11)
        shapes.append(text("tally", INDENT, HEADING + 10, words, look="soft"))
    else:
        held = replicas.drawn(number, moment.partitions, width - 2 * INDENT)
        dim = "dim" if away else ""
        shapes.append(group("replicas", INDENT, HEADING, held, look=dim))
    return shapes


def _state(moment: ViewMoment, y: float, whole: float) -> SceneShape:
    brokers = moment.state.brokers
    alive = sum(it.session is not None and it.answers for it in brokers.values())
    words = f"ZooKeeper: {alive} of {len(brokers)} sessions"
    if moment.state.controllers:
        leads = controllers_scene.active(moment)
        words = f"controllers: {controllers_scene.name_of(leads) if leads else 'nobody'} leads"
    cut = sorted({"–".join(sorted((it.source, it.target))) for it in moment.state.links if it.cut})
    if cut:
        words += f" · cut: {', '.join(cut)}"
    words = fit(words, whole - 2 * EDGE, 11)
    x = whole - EDGE - width_of(words, 11) if whole >= BESIDE else EDGE
    return group("zookeeper", x, y, [text("words", 0, 12, words, look="soft")], label=words)
