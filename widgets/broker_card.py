"""What the cards of brokers and of ZooKeeper servers share: their light, and their menu."""

from widgets.scene import SceneShape, circle, path

OFFERS = {
    "up": (("kill", "kill (SIGKILL)"), ("pause", "pause (SIGSTOP)"), ("restart", "restart")),
    "starting": (("kill", "kill (SIGKILL)"),),
    "paused": (("resume", "resume (SIGCONT)"), ("kill", "kill (SIGKILL)")),
}
DOWN = (("restart", "start it again"),)


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
