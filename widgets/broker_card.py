"""What the cards of brokers and of ZooKeeper servers share: their light, and their menu.

A broker's menu also has faults of its answers to clients, or, while it has some, their end: apart,
below what one does to a process.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

from widgets.cluster_layout import Box, ClusterLayout
from widgets.scene import Act, ActKind, SceneShape, circle, fit, group, line, path, rect, text

FAILED, ERROR = "Produce", "NOT_ENOUGH_REPLICAS"  # what the menu offers
COORDINATOR_MS = 500
PAD, LIGHT = 8, 16  # px of a small card: from its edge; from the light to the name

Offers: TypeAlias = tuple[tuple[str, str, ActKind], ...]  # acts, their words and kinds

KILL: Offers = (("kill", "kill (SIGKILL)", "usual"),)
OFFERS: dict[str, Offers] = {
    "up": (*KILL, ("pause", "pause (SIGSTOP)", ""), ("restart", "restart", "")),
    "starting": KILL,
    "paused": (("resume", "resume (SIGCONT)", "usual"), ("kill", "kill (SIGKILL)", "")),
}
DOWN: Offers = (("restart", "start it again", ""),)
ANSWERS: Offers = (
    ("fail_requests", f"answer the next {FAILED} with {ERROR}", "apart"),
    ("drop_next_answer", f"lose the answer to the next {FAILED}", ""),
    ("slow_coordinator", f"slow coordinator: answer {COORDINATOR_MS} ms later", ""),
)
HEALED: Offers = (("heal_requests", "answer clients as usual again", "apart"),)


def offered(name: str, status: str, able: Collection[str]) -> tuple[Act, ...]:
    """What can be done to a process in this status, of what the view is able to do."""
    found = OFFERS.get(status, DOWN)
    return tuple(Act(act, name, words, kind) for act, words, kind in found if act in able)


def faults(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """What is done to the requests of clients and their answers, in words."""
    found = []
    for row in rows:
        api = row["api"].title().replace("_", "") if row.get("api") else "request"
        times = f"next {row['times']} × {api}" if row.get("times", 1) > 1 else f"next {api}"
        match row["fault"]:
            case "fail":
                found.append(f"{times}: {row['error']}")
            case "drop":
                found.append(f"{times}: answer lost")
            case "repeat" if row["kept"]:
                found.append(f"{api} will come again")
            case "repeat":
                found.append(f"{times}: comes twice")
            case _:
                found.append(f"coordinator {row['ms']} ms late")
    return found


def light(status: str, x: float, y: float = 22) -> list[SceneShape]:
    """Alive: filled. Paused: two bars. Down: a cross."""
    match status:
        case "up":
            return [circle("light", x, y, 6, look="alive")]
        case "starting":
            return [circle("light", x, y, 6, look="paused away")]
        case "paused":
            return [
                path(
                    "light", f"M{x - 3:g} {y - 6:g}v12M{x + 3:g} {y - 6:g}v12", look="paused thick"
                )
            ]
        case _:
            bars = path("cross", f"M{x - 4:g} {y - 4:g}l8 8m0 -8l-8 8", look="down")
            return [circle("light", x, y, 7, look="down"), bars]


def server_card(
    box: Box,
    title: str,
    name: str,
    role: tuple[str, str],
    words: tuple[str, str],
    lit: str,
    serves: bool,
) -> list[SceneShape]:
    """A card in the card of ZooKeeper, or of the controllers: a name, a role, a few words. `lit`:
    as its light shows it. `role`, `words`: a text and its look."""
    room = box.width - 2 * PAD
    return [
        rect("card", 0, 0, box.width, box.height, 8, look="card" if serves else "card away"),
        group("light", 0, -6, light(lit, PAD + 5)),
        text("name", PAD + LIGHT, 20, title, look="bold", label=name),
        text("role", PAD, 37, role[0], look=role[1]),
        text("words", PAD, 53, fit(words[0], room, 11), look=words[1]),
    ]


def feet(plan: ClusterLayout) -> list[SceneShape]:
    """Where sessions leave the cards of servers; behind the cards of a second row."""
    shapes = []
    for number in sorted({server for _, server in plan.sessions}):
        box, keeper = plan.server(number), plan.keeper
        x = box.middle - keeper.x
        foot = line(f"foot {number}", x, box.bottom - keeper.y, x, keeper.height, look="link")
        shapes.append(foot)
    return shapes
