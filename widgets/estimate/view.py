"""Estimate: a question whose answer is a number, before a cell runs, and what came out afterwards.

    Estimate   run on, or choose again          your answer, ms [ 400 ]  [a hint]
    ┌───────────────────────────────────────────────────────────────────────────┐
    │ After how long does the producer get its answer?                          │
    │ Right is what is at most 1.2 times too small or too large.                │
    │                        400 ms                                             │
    │  ────────────────────────▐█●█▌──────────────────────────────              │
    │  50     100    200     500      1,000    2,000      5,000                 │
    └───────────────────────────────────────────────────────────────────────────┘
    guess = Estimate(
        "After how long does the producer get its answer?",
        NumberLine(50, 5000, "ms", within=1.2),
        "250 ms for the record, and 250 ms for the next Fetch.",
        holds=(400, 600),
        less="After 250 ms the leader does not know it yet.",
        more="Nobody sends a third message.")
    guess
    ...
    guess.outcome(503)            # or outcome(1.02, 1.49): from the least to the largest

The learner drags, types, or presses the arrows, and may change the answer until the outcome. The
answer is right if it is near enough, and the card says beforehand what that is. `holds` are the
numbers that the sentences explain: in an experiment that the learner has changed another one may
come out, and then the card gives no reason.

Invariant: after its outcome the answer never changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import ClassVar

from engine.errors import invalid_request
from widgets import controls
from widgets.estimate.number_line import NumberLine, NumberRange, said
from widgets.progress.record import progress_file, running_cell
from widgets.scene import ABOUT, Act, Scene, SceneShape, circle, line, path, rect, text, width_of
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn

MARGIN, LINE = 16, 19
ABOVE, BELOW = 40, 62  # px from the words to the line, and from the line to what follows
OUTCOME = 24  # px more for the outcome, in words
THICK, KNOB = 14, 9  # px: half of the band, and the radius of the knob
OTHER = "The experiment was changed, so its reason may be another one."
NOTHING = "nothing in this run"


@dataclass(frozen=True)
class EstimateResult:
    """How an estimate went. What it says is what a cell shows."""

    chosen: float | None  # None: nobody answered
    truth: NumberRange | None  # None: it did not happen
    right: bool | None
    words: str

    def __repr__(self) -> str:
        return self.words


class Estimate(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = frozenset({"answer", "slide", "less", "more", "hint"})

    def __init__(
        self,
        question: str,
        line: NumberLine,
        why: str,
        *,
        holds: tuple[float, float],
        less: str,
        more: str,
        hint: str = "",
    ) -> None:
        """`less`, `more`: what somebody overlooks whose number is too small, or too large."""
        super().__init__(name="Estimate")
        self.question, self.line, self.why = question, line, why
        self._holds, self._less, self._more, self._hint = holds, less, more, hint
        self.hinted = False
        self.chosen: float | None = None
        self.result: EstimateResult | None = None  # None: not known yet
        self._place = running_cell()
        self.draw()

    # -- what the learner does ----------------------------------------------------------------

    def answer(self, number: float) -> None:
        with self.lock:
            if self.result is not None:
                raise invalid_request(
                    "the outcome is known; run the question's cell to be asked again"
                )
            ends = self.line.least, self.line.most
            if not ends[0] <= number <= ends[1]:
                raise invalid_request(f"choose a number from {said(ends[0])} to {said(ends[1])}")
            self.chosen = float(number)
            self.draw(f"Your prediction: {self.line.words(self.chosen)}.")

    def slide(self, place: float) -> None:
        """`place`: on the line, from 0 to 1."""
        self.answer(self.line.value(float(place)))

    def less(self) -> None:
        self._step(-1)

    def more(self) -> None:
        self._step(1)

    def _step(self, direction: int) -> None:
        begin = self.line.value(0.5) if self.chosen is None else self.chosen
        self.answer(self.line.next_to(begin, direction))

    def hint(self) -> None:
        with self.lock:
            self.hinted = bool(self._hint)
            self.draw(f"Hint: {self._hint}")

    # -- what happened ------------------------------------------------------------------------

    def outcome(self, least: float | None, most: float | None = None) -> EstimateResult:
        """One number, or the least and the largest of several runs; None: it did not happen."""
        truth = None if least is None else NumberRange(least, least if most is None else most)
        with self.lock:
            right = None
            if self.chosen is not None:
                right = truth is not None and self.line.is_right(self.chosen, truth)
            words = " ".join(self._told(truth, right))
            self.result = result = EstimateResult(self.chosen, truth, right, words)
            self.draw(words)
        if self.chosen is not None and self._place and (kept := progress_file()):
            happened = NOTHING if truth is None else self.line.words_of(truth)
            off = "" if truth is None else self.line.off(self.chosen, truth)
            predicted = self.line.words(self.chosen)
            kept.estimated(self._place, self.question, predicted, happened, off, right=bool(right))
        return result

    def _told(self, truth: NumberRange | None, right: bool | None) -> Iterator[str]:
        """The outcome in sentences."""
        it_was = NOTHING if truth is None else self.line.words_of(truth)
        if self.chosen is None:
            yield f"What happened: {it_was}."
        else:
            yield f"You predicted: {self.line.words(self.chosen)}. What happened: {it_was}."
            off = "" if truth is None else self.line.off(self.chosen, truth)
            if off:
                yield f"Your number is {off}" + (", which is near enough." if right else ".")
        yield from self._reasons(truth, right)

    def _reasons(self, truth: NumberRange | None, right: bool | None) -> Iterator[str]:
        least, most = self._holds
        if truth is None or truth.least < least or truth.most > most:
            yield OTHER
            return
        if right is False and self.chosen is not None:
            yield self._less if self.chosen < truth.least else self._more
        yield self.why

    # -- how it looks -------------------------------------------------------------------------

    def words(self) -> dict[str, str]:
        """By kind, what stands in its place where nothing runs."""
        ends = f"{said(self.line.least)} to {said(self.line.most)} {self.line.unit}"
        asked = f"<p><b>{escape(self.question)}</b></p>"
        return {
            "text/html": f"{asked}<p>A number from {ends}. {self.line.rule}</p>",
            "text/plain": self.name,
        }

    def draw(self, says: str = "") -> None:
        card = EstimateCard(self, self.width)
        self.about = self._about()
        title = f"{self.question} {self.line.rule}"
        self.show(Scene(self.width, card.height, card.shapes, title=title, says=says), self._keys())

    def _about(self) -> str:
        if self.result is None:
            return "choose first, then run on" if self.chosen is None else "run on, or choose again"
        right = self.result.right
        return "this is what happened" if right is None else "near enough" if right else "not near"

    def _keys(self) -> list[controls.Control]:
        if self.result is not None:
            return []
        field = controls.number(
            "answer",
            f"your answer, {self.line.unit}",
            self.chosen,
            least=self.line.least,
            most=self.line.most,
            step="any",
        )
        if not self._hint or self.hinted:
            return [field]
        return [field, controls.button("hint", "a hint", "a hint")]

    @property
    def hint_room(self) -> str:
        """Its words, which have their room from the start: nothing moves when they come."""
        return f"Hint: {self._hint}" if self._hint else ""

    def reasons(self) -> list[str]:
        """Below the line, once the outcome is known."""
        if self.result is None:
            return []
        return [*self._reasons(self.result.truth, self.result.right)]


class EstimateCard:
    """One question and its line, laid out."""

    def __init__(self, asked: Estimate, width: float) -> None:
        self._asked, self._line = asked, asked.line
        self._width, self._left, self._right = width, MARGIN + 10, width - MARGIN - 10
        self.shapes: list[SceneShape] = []
        self.height = 28.0  # the next baseline; in the end, where it all ends
        self._write("question", asked.question, "head", 14)
        self._write("rule", self._line.rule, "small")
        self.height += ABOVE
        self._y = self.height
        self.shapes += [*self._band(), *self._ticks(), *self._guess(), *self._truth()]
        self.height += BELOW + (OUTCOME if asked.result else 0)
        if asked.hint_room and (asked.hinted or asked.result is None):
            self._write("hint", asked.hint_room, "small", shown=asked.hinted)
        for number, words in enumerate(asked.reasons()):
            self._write(f"why {number}", words, "small")
        self.height -= 4

    def _write(
        self, key: str, words: str, look: str, size: float = 12, *, shown: bool = True
    ) -> None:
        column = TextColumn(MARGIN, self.height, self._width - 2 * MARGIN, LINE)
        column.write(key, words, look, size=size)
        self.shapes += column.shapes if shown else []
        self.height = column.y

    def _x(self, number: float) -> float:
        return self._left + self._line.place(number) * (self._right - self._left)

    def _band(self) -> Iterator[SceneShape]:
        """The line, and around the guess what would be right."""
        y, chosen = self._y, self._asked.chosen
        yield line("future", self._left, y, self._right, y, look="future")
        if chosen is not None:
            least, most = map(self._x, self._line.right_from(chosen))
            yield rect("near", least, y - THICK, most - least, 2 * THICK, 5, look="span")

    def _ticks(self) -> Iterator[SceneShape]:
        free = 0.0  # from where on there is room for words
        for number in self._line.ticks():
            x, words = self._x(number), said(number)
            y, half = self._y + THICK, width_of(words, 11) / 2
            yield line(f"tick {words}", x, y + 2, x, y + 6, look="tick")
            x = min(max(x, MARGIN + half), self._width - MARGIN - half)
            if x - half >= free:
                yield text(f"at {words}", x, y + 19, words, ABOUT, look="tiny")
                free = x + half + 8

    def _guess(self) -> Iterator[SceneShape]:
        asked, y = self._asked, self._y
        if asked.chosen is not None:
            words, look = self._guess_words(asked.chosen)
            x = self._x(asked.chosen)
            yield text("guess", self._inside(x, words, 14), y - 22, words, ABOUT, look=look)
            yield circle("knob", x, y, KNOB, look="handle still")
        if asked.result is None:
            value = "no answer yet" if asked.chosen is None else self._line.words(asked.chosen)
            yield rect(
                "slider",
                self._left,
                y - THICK - 8,
                self._right - self._left,
                2 * THICK + 16,
                look="clear",
                label=f"your answer: {value}; arrows change it",
                acts=(Act("less", None, "less"), Act("more", None, "more")),
                drag="slide",
            )
            if asked.chosen is None:
                words = "drag, type a number above, or press ← →"
                x = self._width / 2
                yield text("how", x, y - 22, words, ABOUT, look="soft still")

    def _guess_words(self, chosen: float) -> tuple[str, str]:
        words, result = self._line.words(chosen), self._asked.result
        if result is None:
            return f"● {words}", "head lead still"
        if result.right:
            return f"✓ {words}", "head ok"
        off = self._line.off(chosen, result.truth) if result.truth else ""
        return f"✗ {words}" + (f", {off}" if off else ""), "head bad"

    def _truth(self) -> Iterator[SceneShape]:
        result = self._asked.result
        if result is None:
            return
        y = self._y + THICK + 44
        if result.truth is None:
            yield text(
                "truth", self._width / 2, y, "it did not happen in this run", ABOUT, look="bold"
            )
            return
        words = f"it was {self._line.words_of(result.truth)}"
        least, most = map(self._x, result.truth)
        middle = (least + most) / 2
        wide = most - least + 6
        frame = f"M{least - 3:g} {self._y - THICK:g}h{wide:g}v{2 * THICK}h{-wide:g}z"
        yield path("was", frame, look="kept")
        x = self._inside(middle, words, 14)
        yield text("truth", x, y, words, ABOUT, look="head ok")

    def _inside(self, x: float, words: str, size: float) -> float:
        """The middle of words that stay within the card."""
        half = width_of(words, size, True) / 2
        return min(max(x, MARGIN + half), self._width - MARGIN - half)
