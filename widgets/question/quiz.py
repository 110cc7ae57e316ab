"""Quiz and Predict: questions before a cell runs, which the engine answers afterwards.

    ┌ What becomes of the record? ────────────────────┐
    │ ┌ A ───────────┐ ┌ B ───────────┐ ┌ C ────────┐ │   each answer is a button
    │ │ It is lost   │ │ It survives  │ │ It waits  │ │   ... a click chooses it,
    │ │ ● your guess │ │ ✓ so it was  │ │           │ │   ... and the outcome ends the choice
    │ │ why not      │ │ why          │ │ why not   │ │
    │ └──────────────┘ └──────────────┘ └───────────┘ │
    │ Hint: who had the record?                       │   or the button that asks for it
    └─────────────────────────────────────────────────┘   on a narrow page they stand below
                                                          each other
    guess = Predict("The leader is killed. What becomes of the record?", {
        "It is lost": "Two followers had a copy.",
        "It survives": "One of the followers leads now."})
    guess
    ...
    guess.outcome("It survives" if found else "It is lost")

A Quiz has several questions, Predict has one. The learner may change the answer until a cell tells
the outcome. The page only reports which button was pressed; the right answer comes from the kernel,
from what the engine did. Every answer, right or wrong, has a sentence that says why. If nobody
answers, as in a run without a reader, the outcome is shown all the same.

A lab asks its reader to change the experiment and run it again. The sentences are of the first run:
another outcome is told without them, and is not counted.

Invariant: after its outcome a question's choice, and its outcome, never change.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import ClassVar

from engine.errors import invalid_request
from widgets.progress.record import progress_file, running_cell
from widgets.scene import ABOUT, Act, Scene, SceneShape, circle, group, rect, text, wrap
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn

MARGIN, GAP = 16, 12
LINE = 19  # from one line to the next
LETTERS = "ABCD"
LEAST = 96  # the height of an answer: as large as a button should be
LOW = 62  # the same, of one that has the whole width
SLIM = 176  # px: an answer is never narrower
BASELINE = 12  # of a hint, below the answers
OFFER = 22  # the height of the button for a hint, where a hint's baseline would be


NONE_OF_THEM = (
    "What you have changed has an outcome that is none of the answers: see the cell above."
)


@dataclass(frozen=True)
class PredictionResult:
    """How a prediction went. What it says is what a cell shows."""

    chosen: str | None  # None: nobody answered
    truth: str | None  # None: none of the answers
    words: str

    @property
    def right(self) -> bool | None:
        return None if None in (self.chosen, self.truth) else self.chosen == self.truth

    def __repr__(self) -> str:
        return self.words


class Question:
    def __init__(self, text: str, answers: Mapping[str, str], *hints: str) -> None:
        """`answers`: each with the sentence that says why it is so, or why not."""
        if not 2 <= len(answers) <= len(LETTERS):
            raise invalid_request(f"a question has two to four answers, not {len(answers)}: {text}")
        mute = [answer for answer, why in answers.items() if not why.strip()]
        if mute:
            raise invalid_request(
                f"the answer {mute[0]!r} needs a sentence that says why, or why not"
            )
        self.text, self.answers, self.hints = text, dict(answers), hints
        self.hinted = 0  # how many hints were asked for
        self.chosen: str | None = None
        self.truth: str | None = None  # what the engine did; None: not known yet

    def choose(self, answer: str) -> None:
        self._check(answer)
        if self.truth is not None:
            raise invalid_request("the outcome is known; run the question's cell to be asked again")
        self.chosen = answer

    def tell(self, truth: str | None) -> PredictionResult:
        """What the engine did; None, if that is none of the answers: the question stays open."""
        if truth is None:
            return PredictionResult(self.chosen, None, NONE_OF_THEM)
        self._check(truth)
        if self.truth not in (None, truth):
            now = f"Now: {truth}. Before: {self.truth}. What you have changed makes the difference."
            return PredictionResult(self.chosen, self.truth, now)
        self.truth = truth
        return PredictionResult(self.chosen, truth, self._words(truth))

    def _check(self, answer: str) -> None:
        if answer not in self.answers:
            raise invalid_request(f"{answer!r} is none of the answers: {', '.join(self.answers)}")

    def _words(self, truth: str) -> str:
        so = f"{truth}. {self.answers[truth]}"
        if self.chosen is None:
            return f"What happened: {so}"
        if self.chosen == truth:
            return f"As you predicted: {so}"
        return f"You predicted: {self.chosen}. {self.answers[self.chosen]} What happened: {so}"

    def html(self) -> str:
        """The question and its answers, for a page on which nothing runs."""
        answers = "".join(f"<li>{escape(answer)}</li>" for answer in self.answers)
        return f'<p><b>{escape(self.text)}</b></p><ol type="A">{answers}</ol>'

    def status(self, answer: str) -> str:
        """An answer's, in a few words."""
        if self.truth is None:
            return "● your prediction" if answer == self.chosen else ""
        if answer == self.truth:
            return "✓ so it was, as you said" if answer == self.chosen else "✓ so it was"
        return "✗ your prediction" if answer == self.chosen else ""


class Quiz(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = frozenset({"choose", "hint"})

    def __init__(self, *questions: Question, name: str = "Quiz") -> None:
        super().__init__(name=name)
        if not questions:
            raise invalid_request("a quiz has at least one question")
        self.questions = questions
        self._place = running_cell()
        self.draw()

    def choose(self, choice: str) -> None:
        """ "2 It survives": an answer to the second question."""
        number, _, answer = str(choice).partition(" ")
        with self.lock:
            self._question(number).choose(answer)
            self.draw(f"Your prediction: {answer}.")

    def hint(self, number: str = "1") -> None:
        """One more hint."""
        with self.lock:
            question = self._question(number)
            if question.truth is None and question.hinted < len(question.hints):
                question.hinted += 1
                self.draw(f"Hint: {question.hints[question.hinted - 1]}")

    def tell(self, number: int, truth: str | None) -> PredictionResult:
        """What the engine did: the outcome of a question, the first being 1."""
        with self.lock:
            question = self._question(str(number))
            is_new = question.truth is None
            verdict = question.tell(truth)
            self.draw(verdict.words)
        made = verdict.chosen if is_new and truth is not None else None
        if made is not None and truth and self._place and (kept := progress_file()):
            kept.predicted(self._place, question.text, made, truth)
        return verdict

    @property
    def score(self) -> tuple[int, int]:
        """How many predictions came true, of how many that were made and whose outcome is known."""
        made = [it for it in self.questions if it.truth is not None and it.chosen is not None]
        return sum(it.chosen == it.truth for it in made), len(made)

    def _question(self, number: str) -> Question:
        if not number.isdecimal() or not 1 <= int(number) <= len(self.questions):
            raise invalid_request(
                f"there is no question {number!r}, only 1 to {len(self.questions)}"
            )
        return self.questions[int(number) - 1]

    def words(self) -> dict[str, str]:
        """By kind, what stands in its place where nothing runs."""
        return {"text/html": "".join(it.html() for it in self.questions), "text/plain": self.name}

    def draw(self, says: str = "") -> None:
        shapes, top = [], 0.0
        for number, question in enumerate(self.questions, 1):
            drawn = Sheet(question, number, self.width)
            shapes.append(group(f"question {number}", 0, top, drawn.shapes))
            top += drawn.height
        self.about = self._about()
        self.show(Scene(self.width, top, shapes, title=self.name, says=says))

    def _about(self) -> str:
        right, made = self.score
        if all(question.truth is not None for question in self.questions):
            return f"{right} of {made} came true" if made else "this is what happened"
        open_ones = [it for it in self.questions if it.chosen is None and it.truth is None]
        if open_ones:
            return "choose first, then run on"
        return "run on, or choose again"  # as long as the words before: the header does not wrap


class Sheet:
    """One question, laid out."""

    def __init__(self, question: Question, number: int, width: float) -> None:
        self.question, self.number, self.width = question, number, width
        self.shapes: list[SceneShape] = []
        self.height = 28.0  # the first baseline; in the end, where it all ends
        self._write("asked", question.text, "head", 14)
        self._answers()
        if question.hints:
            self._hints()
        self.height += 4

    def _write(self, key: str, words: str, look: str, size: float = 12) -> None:
        column = TextColumn(MARGIN, self.height, self.width - 2 * MARGIN, LINE)
        self.shapes += column.write(key, words, look, size=size).shapes
        self.height = column.y

    def _answers(self) -> None:
        answers, room = list(self.question.answers), self.width - 2 * MARGIN
        across = _across(len(answers), room)
        width = (room - GAP * (across - 1)) / across
        cards = [AnswerCard(self.question, answer, width) for answer in answers]
        top = self.height - 6
        for first in range(0, len(cards), across):
            row = cards[first : first + across]
            height = max([LOW if across == 1 else LEAST, *(card.height for card in row)])
            for place, card in enumerate(row, first):
                x = MARGIN + (place - first) * (width + GAP)
                self.shapes.append(self._answer(card, place, x, top, height))
            top += height + GAP
        self.height = top + MARGIN - GAP - 4

    def _answer(
        self, card: "AnswerCard", place: int, x: float, y: float, height: float
    ) -> SceneShape:
        acts: tuple[Act, ...] = ()
        if self.question.truth is None:
            acts = (Act("choose", f"{self.number} {card.answer}", card.answer, "answer"),)
        shapes = list(card.shapes(height, LETTERS[place]))
        return group(f"answer {place + 1}", x, y, shapes, label=card.label(), acts=acts)

    def _hints(self) -> None:
        """Below the answers. There is room for all of them from the start: nothing moves when one
        comes."""
        asked, begin = self.question, self.height
        told = [f"Hint: {hint}" for hint in asked.hints]
        self.height += BASELINE
        for place, hint in enumerate(told[: asked.hinted], 1):
            self._write(f"hint {place}", hint, "small")
        if asked.truth is None:
            if asked.hinted < len(told):
                self._offer_hint()
            room = self.width - 2 * MARGIN
            *before, last = (LINE * len(wrap(hint, room)) for hint in told)
            self.height = begin + BASELINE + sum(before) + max(last, OFFER)
        elif not asked.hinted:
            self.height = begin

    def _offer_hint(self) -> None:
        words = "a hint" if not self.question.hinted else "one more hint"
        width, top = 110.0, self.height - BASELINE - 2
        shapes = [
            rect("box", 0, 0, width, 26, 7, look="card"),
            text("words", width / 2, 17.5, words, ABOUT, look="small"),
        ]
        act = Act("hint", str(self.number), words)
        self.shapes.append(group("ask", MARGIN, top, shapes, label=words, acts=(act,)))


def _across(count: int, room: float) -> int:
    """How many answers stand side by side: all of them, half of them, or one."""
    for across in (count, 2):
        if count % across == 0 and (room - GAP * (across - 1)) / across >= SLIM:
            return across
    return 1


class AnswerCard:
    """One answer: a button; once the outcome is known, with the sentence why."""

    def __init__(self, question: Question, answer: str, width: float) -> None:
        self.question, self.answer, self.width = question, answer, width
        room = width - 2 * MARGIN
        self.words = wrap(answer, room - 34, 14, bold=True)
        known = question.truth is not None
        self.why = wrap(question.answers[answer], room, 12) if known else []
        self.status = question.status(answer)
        self.told = wrap(self.status, room, 12, bold=True) if self.status else []
        told = len(self.told) or not known  # room for what a choice will say
        self.height = 30 + LINE * (len(self.words) + told) + 16.5 * len(self.why) + 13

    @property
    def look(self) -> str:
        """The truth has a thick green frame, a wrong guess a vermilion one, a guess a blue one."""
        if self.answer == self.question.truth:
            return "paper kept"
        if self.answer == self.question.chosen:
            return "down" if self.question.truth is not None else "handle"
        return "card"

    def label(self) -> str:
        why = self.question.answers[self.answer] if self.question.truth is not None else ""
        status = self.status.lstrip("●✓✗ ")
        return ". ".join(it.rstrip(".") for it in (self.answer, status, why) if it)

    def shapes(self, height: float, letter: str) -> Iterator[SceneShape]:
        chosen = self.answer == self.question.chosen
        marked = chosen or self.answer == self.question.truth
        dot = "leader" if chosen else "alive" if marked else "paper"  # blue is the learner's own
        yield rect("box", 0, 0, self.width, height, 10, look=self.look)
        yield circle("dot", MARGIN + 10, 31, 11, look=dot)
        look = "letter leader" if marked else "soft bold"
        yield text("letter", MARGIN + 10, 35, letter, ABOUT, look=look)
        column = TextColumn(MARGIN + 34, 36, 0, LINE)
        column.put("words", self.words, "head")
        column.x, column.y = MARGIN, column.y + 6
        wrong, right = self.status.startswith("✗"), self.status.startswith("✓")
        look = "bold bad" if wrong else "bold ok" if right else "bold lead"
        column.put("status", self.told, look)
        column.line = 16.5
        column.put("why", self.why, "small")
        yield from column.shapes


class Predict(Quiz):
    def __init__(self, question: str, answers: Mapping[str, str], *, hint: str = "") -> None:
        super().__init__(Question(question, answers, *([hint] if hint else [])), name="Predict")

    def outcome(self, truth: str | None) -> PredictionResult:
        """What happened, in the words of one of the answers; None: in none of them, because
        something was changed."""
        return self.tell(1, truth)
