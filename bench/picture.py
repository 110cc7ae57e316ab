"""The ratios as a picture: bars to both sides of 1, on a logarithmic scale, in SVG.

produce                    1          10         100
    librdkafka's mock   ###|           .           .     0.72
    RabbitMQ               |###########.########   .     43
"""

from html import escape
from math import log10

from bench.rounds import Ratios
from bench.table import number

WIDTH, LEFT, RIGHT = 720, 200, 60  # pixels: all of it, and what is beside the scale
HEAD, ROW, BAR = 56, 18, 12
TICKS = (0.001, 0.01, 0.1, 1, 10, 100, 1000)
STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.strong { font-weight: 600 }  .middle { text-anchor: middle }  .end { text-anchor: end }
.faster { fill: #2da44e }  .slower { fill: #bf8700 }  line { stroke: #d0d7de }"""


def picture(ratios: Ratios, title: str) -> str:
    values = [value for by_peer in ratios.values() for value in by_peer.values()]
    low, high = min([0.5, *values]), max([2.0, *values])
    unit = (WIDTH - LEFT - 2 * RIGHT) / log10(high / low)  # pixels for a factor of ten

    def x(value: float) -> float:
        return LEFT + RIGHT + log10(value / low) * unit

    parts, y = [], HEAD
    for load, by_peer in ratios.items():
        parts.append(text(12, y + BAR, load, "strong"))
        for peer, value in by_peer.items():
            y += ROW
            parts.append(text(24, y + BAR, peer))
            parts += bar(x(1), x(value), y, number(value))
        y += ROW + BAR
    grid = [
        f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{HEAD - 8}" y2="{y}"/>'
        + text(x(tick), HEAD - 12, f"{tick:g}", "middle")
        for tick in TICKS
        if low <= tick <= high
    ]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        '<rect width="100%" height="100%" fill="white"/>',
        text(12, 20, title, "strong"),
        *grid,
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def bar(one: float, end: float, y: float, label: str) -> list[str]:
    """From 1 to the right if faster, to the left if slower; the number at its end."""
    kind, side, gap = ("faster", "start", 5) if end >= one else ("slower", "end", -5)
    left, width = min(one, end), max(abs(end - one), 1.0)
    return [
        f'<rect x="{left:.1f}" y="{y + 2}" width="{width:.1f}" height="{BAR}" class="{kind}"/>',
        text(end + gap, y + BAR, label, side),
    ]


def text(x: float, y: float, words: str, kind: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y}" class="{kind}">{escape(words)}</text>'
