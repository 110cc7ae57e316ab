"""One question of the oracle, laid out.

3 of 20 · ISR · level 2                      ● ● ◉ ○ ○ ○ ...
The situation                                what was stored, who is cut off, settings
  [L] broker 2   a b c d ▏e                  the replicas: records, and the high watermark
  [F] broker 1   a b c ▏
▲ Broker 2 dies.                             what happens now
Which records survive?
┌ A ────────┐ ┌ B ────────┐ ...              a click, or Enter, is the answer
✓ so it was: why, and where a lab shows it
"""

from collections.abc import Iterator, Sequence
from typing import Any

from engine.table import Table, words
from oracle.situation import OracleQuestion
from widgets.scene import ABOUT, Act, SceneShape, circle, group, line, rect, text, wrap
from widgets.text_column import TextColumn

MARGIN, LINE, GAP = 16, 19, 12
LETTERS = "ABCDEF"
SLIM = 176  # px: an answer is never narrower
CELL, ROW = 18, 26  # px: of a record, of a replica
ROLES = {"leader": ("L", "leader"), "follower": ("F", "follower")}
REPLICAS = ["broker", "role", "records", "high watermark", "epoch"]
COLUMN = 9  # px between two columns


class QuestionSheet:
    def __init__(
        self, question: OracleQuestion, choice: int | None, width: float, section: str
    ) -> None:
        """`choice`: the place of the chosen answer; None: not answered yet. `section`: in words."""
        self.question, self.choice, self.width = question, choice, width
        self.shapes: list[SceneShape] = []
        self.height = 0.0
        self._situation()
        self._asked()
        self._answers()
        if choice is not None:
            self._why(section)
        self.height += 6

    def _write(
        self, key: str, said: str, look: str = "", size: float = 12, x: float = MARGIN
    ) -> None:
        column = TextColumn(x, self.height, self.width - x - MARGIN, LINE)
        self.shapes += column.write(key, said, look, size=size).shapes
        self.height = column.y

    def _situation(self) -> None:
        self.height += 14
        table = self.question.table
        for place, fact in enumerate(self.question.facts):
            self._write(f"fact {place}", fact)
        if table is not None:
            self.height += 2
            drawn = _replicas(table) if table.head == REPLICAS else _grid(table)
            shapes = list(drawn)
            rows = len(table.rows) + (table.head != REPLICAS)
            self.shapes.append(group("table", MARGIN, self.height, shapes))
            self.height += rows * ROW + 12

    def _asked(self) -> None:
        self.height += 6
        top = self.height - 16
        self._write("happens", f"▲ {self.question.happens}", "bold", 13, MARGIN + 10)
        bar = rect("now", MARGIN, top + 2, 3, self.height - top - LINE + 4, look="bad")
        self.shapes.append(bar)
        self.height += 11
        self._write("asks", self.question.asks, "head", 14)

    def _answers(self) -> None:
        options, room = self.question.options, self.width - 2 * MARGIN
        across = next((it for it in (len(options), 2) if (room - GAP * (it - 1)) / it >= SLIM), 1)
        wide = (room - GAP * (across - 1)) / across
        top = self.height - 6
        for first in range(0, len(options), across):
            row = range(first, min(first + across, len(options)))
            high = max(self._height(place, wide) for place in row)
            for place in row:
                x = MARGIN + (place - first) * (wide + GAP)
                self.shapes.append(self._answer(place, x, top, wide, high))
            top += high + GAP
        self.height = top + 10

    def _told(self, place: int) -> tuple[str, str, str]:
        """Of an answer: its look, a few words, and the belief behind it."""
        option, right = self.question.options[place], self.question.right
        if self.choice is None:
            return "card", "", ""
        if place == right:
            return "paper kept", "✓ so it was" + ", as you said" * (place == self.choice), ""
        if place == self.choice:
            return "down", "✗ your answer", option.belief
        return "card", "", ""

    def _height(self, place: int, wide: float) -> float:
        _, status, belief = self._told(place)
        lines = len(wrap(self.question.options[place].text, wide - 2 * MARGIN - 34, 14, bold=True))
        told = len(wrap(belief, wide - 2 * MARGIN, 12)) if belief else 0
        room = LINE * (1 if status or self.choice is None else 0)
        return 34 + LINE * lines + room + 16.5 * told

    def _answer(self, place: int, x: float, y: float, wide: float, high: float) -> SceneShape:
        option = self.question.options[place]
        look, status, belief = self._told(place)
        right = status[:1] == "✓"
        inside = [
            rect("box", 0, 0, wide, high, 10, look=look),
            circle("dot", MARGIN + 10, 31, 11, look="alive" if right else "paper"),
            text("letter", MARGIN + 10, 35, LETTERS[place], ABOUT,
                 look="letter leader" if right else "soft bold"),
        ]  # fmt: skip
        column = TextColumn(MARGIN + 34, 36, wide - 2 * MARGIN - 34, LINE)
        column.write("words", option.text, "head")
        column.x, column.y, column.room = MARGIN, column.y + 5, wide - 2 * MARGIN
        column.put("status", [status] if status else [], "bold ok" if right else "bold bad")
        column.line = 16.5
        column.write("belief", belief, "small", size=12)
        acts = () if self.choice is not None else (Act("answer", place, option.text),)
        label = ". ".join(it for it in (option.text, status.lstrip("✓✗ "), belief) if it)
        return group(f"answer {place}", x, y, inside + column.shapes, label=label, acts=acts)

    def _why(self, section: str) -> None:
        self.height += 8
        self._write("why", self.question.why, "bold", 12)
        self._write("section", f"A lab shows it: {section}", "small")


def _replicas(table: Table) -> Iterator[SceneShape]:
    """A row for each replica: its role, its records as cells, and its high watermark."""
    most = max(len(_records(row)) for row in table.rows)
    mark: Any
    for place, (broker, role, records, mark, epoch) in enumerate(table.rows):
        y, values = place * ROW, _records((broker, role, records, mark, epoch))
        is_down, is_out = role == "down", "not in the ISR" in str(role)
        letter, look = ROLES.get(str(role).partition(",")[0], ("–", "out"))
        look = "out" if is_out else look
        yield rect(f"badge {place}", 0, y, 20, 18, 4, look=look)
        yield text(f"letter {place}", 10, y + 13, letter, ABOUT, look=f"letter {look}")
        dim = "soft" if is_down else "bold"
        yield text(f"broker {place}", 28, y + 13, f"broker {broker}", look=dim)
        for number, value in enumerate(values):
            done = mark == "" or number < int(mark)
            fill = "band key" if done else "band value"
            yield rect(f"cell {place} {number}", 96 + number * CELL, y, CELL - 2, 18, 2, look=fill)
            x = 96 + number * CELL + (CELL - 2) / 2
            yield text(f"value {place} {number}", x, y + 13, value, ABOUT, look="small")
        if mark != "":
            x = 96 + int(mark) * CELL - 1
            yield line(f"mark {place}", x, y - 3, x, y + 21, look="watermark")
        told = [str(role) if is_down or is_out else "", f"HW {mark}" if mark != "" else ""]
        told.append(f"epoch {epoch}" if epoch != "" else "empty")
        said = " · ".join(it for it in told if it)
        yield text(f"told {place}", 96 + (most + 1) * CELL, y + 13, said, look="soft")


def _records(row: Sequence[Any]) -> list[str]:
    return [] if row[2] == "none" else str(row[2]).split()


def _grid(table: Table) -> Iterator[SceneShape]:
    """Any other table, in columns."""
    rows = [table.head, *([words(cell) for cell in row] for row in table.rows)]
    x = 0.0
    for column in zip(*rows, strict=True):
        for place, cell in enumerate(column):
            look = "soft" if place == 0 else "mono"
            yield text(f"cell {place} {x:.0f}", x, place * ROW + 13, cell, look=look)
        x += max(len(cell) for cell in column) * 8 + 3 * COLUMN
    yield line("under the head", 0, 20, x - 3 * COLUMN, 20, look="rule")
