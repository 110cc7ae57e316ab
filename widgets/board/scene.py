"""The board as a picture: six panels, and the timeline below them.

    ┌ Partitions ─────────────┐ ┌ ISR changes ────────────┐
    │ ▁▁▁▁▂▂▂▂▁▁▁▁            │ │      ▾▾      ▴▴         │
    ├ Records ────────────────┤ ├ Lag ────────────────────┤
    │ ▂▃▅▅▅▃▂                 │ │ ▁▁▂▃▅▇                  │
    ├ Requests ───────────────┤ ├ Disk ───────────────────┤
    └─────────────────────────┘ └─────────────────────────┘
      ━━━━━━━━▲▒▒▒▒★━━━━━━━○──      timeline

A narrow page has one column. Series differ by colour, by dash and by the order of their names.

A pure function: the same history makes the same picture.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from widgets import timeline
from widgets.board.history import BoardHistory
from widgets.board.panels import ISR, PANELS, Panel, Series, rounded, told
from widgets.log.fields import count
from widgets.moment import ViewMoment
from widgets.scene import UP_TO, Scene, SceneShape, fit, group, line, path, rect, text, width_of

MARGIN, GAP = 14, 12
NARROW = 640  # px: one column below this
PLOT = 74  # px: the height of a curve
HEAD = 46  # px above it: the name, and what it means
ROW = 18  # px of a line with the names of series


@dataclass(frozen=True)
class BoardMoment(ViewMoment):
    history: BoardHistory = field(kw_only=True)
    span: int = field(kw_only=True)  # seconds that are shown; 0: all

    @property
    def start(self) -> int:
        first = self.run_source.start
        return max(first, self.at - self.span * 1000) if self.span else first


class Frame(NamedTuple):
    """The plot of one panel."""

    x: float
    y: float
    width: float
    start: int
    end: int
    top: float  # the value at the upper edge

    def place(self, at: int) -> float:
        share = (at - self.start) / max(self.end - self.start, 1)
        return self.x + self.width * min(max(share, 0), 1)

    def level(self, value: float) -> float:
        return self.y + PLOT * (1 - min(value / self.top, 1))


def headline(board: BoardMoment) -> str:
    samples = board.history.between(board.at, board.at)
    if not samples:
        return "nothing seen yet"
    last = samples[-1]
    if not (last.under_replicated or last.offline):
        return "all partitions have all their replicas"
    parts = []
    if last.offline:
        parts.append(f"{count(last.offline, 'partition')} without a leader")
    if last.under_replicated:
        parts.append(f"{count(last.under_replicated, 'partition')} under-replicated")
    return ", ".join(parts)


def picture(board: BoardMoment) -> Scene:
    columns = 1 if board.width < NARROW else 2
    wide = (board.width - 2 * MARGIN - (columns - 1) * GAP) / columns
    samples = board.history.between(board.start, board.at)
    shapes, y = list[SceneShape](), 8.0
    titles = [headline(board)]
    for row in range(0, len(PANELS), columns):
        drawn = [
            (panel, *_panel(board, panel, panel.series(samples), wide))
            for panel in PANELS[row : row + columns]
        ]
        high = max(bottom for _, _, bottom, _ in drawn)
        for place, (panel, body, _, words) in enumerate(drawn):
            card = rect("card", 0, 0, wide, high, 8, look="card")
            shapes.append(group(panel.name, MARGIN + place * (wide + GAP), y, [card, *body]))
            titles.append(words)
        y += high + GAP
    shapes += timeline.drawn(board, 24, y, board.width - 48)
    return Scene(board.width, y + timeline.HEIGHT, shapes, title=". ".join(titles), says=board.says)


def _panel(
    board: BoardMoment, panel: Panel, series: list[Series], wide: float
) -> tuple[list[SceneShape], float, str]:
    """Its shapes, its lower edge, and its words for those who don't see it."""
    inner, room, key = 12.0, wide - 24, panel.name
    top = rounded(max((it.peak for it in series), default=0), panel.unit)
    scale = told(top, panel.unit) if series else ""
    frame = Frame(inner, HEAD + 2, room, board.start, board.at, top)
    floor = frame.y + PLOT
    means = fit(panel.means, room - width_of(scale, 11) - 12, 11)
    shapes = [
        text(f"name {key}", inner, 20, key, look="bold"),
        text(f"means {key}", inner, 37, means, look="tiny"),
        line(f"floor {key}", inner, floor, inner + room, floor, look="rule"),
    ]
    if panel is ISR:
        marks, words = _isr(board, frame)
        return [*shapes, *marks], floor + ROW + 8, f"{key}: {words}"
    if not series:
        empty = fit(panel.empty, room, 11)
        shapes.append(text(f"none {key}", inner, floor - 30, empty, look="soft"))
        return shapes, floor + ROW + 8, f"{key}: {panel.empty}"
    shapes += [
        line(f"top {key}", inner, frame.y, inner + room, frame.y, look="rule"),
        text(f"scale {key}", inner + room, 37, scale, UP_TO, look="tiny"),
    ]
    for place, each in reversed(list(enumerate(series))):
        if drawn := _curve(frame, each):
            label = f"{key}, {each.name}: {told(each.now, panel.unit)}"
            look = f"curve s{place}{' wrong' if each.bad and each.peak else ''}"
            shapes.append(path(f"curve {key} {place}", drawn, look=look, label=label))
    names, below = _names(panel, series, inner, floor, room)
    words = ", ".join(f"{it.name} {told(it.now, panel.unit)}" for it in series)
    return [*shapes, *names], below, f"{key}: {words}"


def _names(
    panel: Panel, series: list[Series], x: float, y: float, room: float
) -> tuple[list[SceneShape], float]:
    """A piece of each curve with its name and its value now, in as many lines as that takes."""
    shapes, at, y = list[SceneShape](), x, y + ROW
    for place, each in enumerate(series):
        value = told(each.now, panel.unit)
        name = fit(each.name, room - width_of(value, 11, bold=True) - 34, 11)
        needs = 24 + width_of(name, 11) + 6 + width_of(value, 11, bold=True) + 16
        if at > x and at + needs - 16 > x + room:
            at, y = x, y + ROW
        key = f"{panel.name} {place}"
        wrong = " wrong" if each.bad and each.now else ""
        after = at + 24 + width_of(name, 11) + 6
        shapes += [
            line(f"key {key}", at, y - 4, at + 18, y - 4, look=f"curve s{place}{wrong}"),
            text(f"series {key}", at + 24, y, name, look="tiny"),
            text(f"value {key}", after, y, value, look=f"value{wrong}"),
        ]
        at += needs
    return shapes, y + 10


def _isr(board: BoardMoment, frame: Frame) -> tuple[list[SceneShape], str]:
    """A mark for each change; many at one place are one mark with their number."""
    changes = board.history.changed(board.start, board.at)
    shapes, middle = list[SceneShape](), frame.y + PLOT / 2
    shrinks = [it for it in changes if it.shrinks]
    expands = [it for it in changes if not it.shrinks]
    for kind, glyph, y, found in (
        ("shrink", "▾", middle - 6, shrinks),
        ("expand", "▴", middle + 22, expands),
    ):
        slots: dict[int, list[str]] = {}
        for each in found:
            words = f"{each.partition}: {list(each.was)} → {list(each.isr)}"
            slots.setdefault(int(frame.place(each.at) // 26), []).append(words)
        for slot, those in slots.items():
            x = min(slot * 26 + 2, frame.x + frame.width - 24)
            words = f"{glyph}{len(those) if len(those) > 1 else ''}"
            label = "; ".join(those[:4]) + (f"; and {len(those) - 4} more" if those[4:] else "")
            look = f"value{' wrong' if kind == 'shrink' else ''}"
            shapes.append(text(f"{kind} {slot}", x, y, words, look=look, label=label))
    words = f"{count(len(shrinks), 'shrink')}, {count(len(expands), 'expand')}"
    shapes.append(text("isr told", frame.x, frame.y + PLOT + ROW, words, look="tiny"))
    return shapes, words


def _curve(frame: Frame, series: Series) -> str:
    """Steps: a value holds until the next sample."""
    parts, last = [], None
    for at, value in series.points:
        x, y = frame.place(at), frame.level(value)
        if last is None:
            parts.append(f"M{x:.1f} {y:.1f}")
        elif y != last:
            parts.append(f"H{x:.1f}V{y:.1f}")
        last = y
    if last is not None:
        parts.append(f"H{frame.place(frame.end):.1f}")
    return "".join(parts)
