"""What the cards of brokers and of ZooKeeper servers share: their light, and their menu.

A broker's menu also has faults of its answers to clients, or, while it has some, their end: apart,
below what one does to a process.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

from widgets.scene import Act, ActKind, SceneShape, circle, path

FAILED, ERROR = "Produce", "NOT_ENOUGH_REPLICAS"  # what the menu offers
COORDINATOR_MS = 500

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


def light(status: str, x: float) -> list[SceneShape]:
    """Alive: filled. Paused: two bars. Down: a cross."""
    match status:
        case "up":
            return [circle("light", x, 22, 6, look="alive")]
        case "starting":
            return [circle("light", x, 22, 6, look="paused away")]
        case "paused":
            return [path("light", f"M{x - 3:g} 16v12M{x + 3:g} 16v12", look="paused thick")]
        case _:
            bars = path("cross", f"M{x - 4:g} 18l8 8m0 -8l-8 8", look="down")
            return [circle("light", x, 22, 7, look="down"), bars]
