"""A card below a picture that shows one thing of it in full, and can be closed.

┌ PartitionChangeRecord                           ✕ ┐
│ what is inside, which the view has placed         │
└───────────────────────────────────────────────────┘

The view has an act "shut".
"""

from collections.abc import Sequence

from widgets.scene import ABOUT, Act, SceneShape, fit, group, rect, text

PAD = 14  # px, from its edge to its words
CROSS = 26  # px: the width of the button that closes it
RISE = 4  # px: its lower edge is so much above the next line of words


def panel_card(
    key: str,
    title: str,
    inside: Sequence[SceneShape],
    place: tuple[float, float, float],
    bottom: float,
) -> tuple[list[SceneShape], float]:
    """`place`: its left edge, its upper edge, and the width of the page in whose middle it is. The
    shapes, and their lower end."""
    x, top, page = place
    width = page - 2 * x
    sign = [
        rect("back", -CROSS / 2, -15, CROSS, 24, 5, look="clear"),
        text("sign", 0, 1, "✕", ABOUT, look="soft"),
    ]
    acts = (Act("shut", None, "close this"),)
    card = [
        rect("panel", x, top, width, bottom - RISE - top, 8, look="card"),
        text("title", x + PAD, top + 21, fit(title, width - 2 * PAD - CROSS, bold=True),
             look="bold", label=title),
        group("shut", x + width - 16, top + 18, sign, label="close this", acts=acts),
    ]  # fmt: skip
    return [group(f"opened {key}", 0, 0, [*card, *inside])], bottom - RISE
