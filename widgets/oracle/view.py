"""Oracle: situations that a simulator made, and questions that their run answers.

    oracle = Oracle(seed=7, questions=20)      the same seed asks the same questions
    oracle

The learner answers, and sees at once what came out, and why. A situation on a cluster or a quorum
can then be stepped through below the answers, message by message; a fork gives that of a cluster
with other delays. At the end the score stands by idea, with the sections of the labs that show what
was missed; `oracle.sections()` has them as links.

A question is made when it is its turn: its situation is run with three timings.

Invariant: an answer that was given stays.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from oracle.cluster_situation import ClusterSituation
from oracle.exam import LEVELS, IdeaScore, drawn_questions, scores
from oracle.kinds import KINDS
from oracle.kinds.quorum import QuorumSituation
from oracle.situation import OracleQuestion, ask
from widgets import controls
from widgets.film.film_stage import OF_THE_RUN, FilmStage
from widgets.oracle.score import score_row
from widgets.oracle.sections import LabLink, lab_links
from widgets.oracle.sheet import LINE, MARGIN, QuestionSheet
from widgets.progress.record import progress_file, running_cell
from widgets.replay.situation_run import SituationTrace
from widgets.scene import Act, SceneShape, circle, group, text

WITH_A_RUN = ClusterSituation, QuorumSituation
DOT = 13  # px from one question's dot to the next


class Oracle(FilmStage):
    ACTS: ClassVar[frozenset[str]] = OF_THE_RUN | {
        "answer",
        "next_question",
        "turn_to",
        "step_through",
    }

    def __init__(self, seed: int = 0, questions: int = 20, level: int | None = None) -> None:
        super().__init__("What will happen?")
        self.seed = seed
        levels = LEVELS if level is None else (level,)
        only = "" if level is None else f", level {level}"
        self._exam = f"seed {seed}, {questions} questions{only}"  # as the progress file names it
        self._drawn = drawn_questions(seed, questions, levels)
        self._asked: dict[int, OracleQuestion] = {}  # those that were made so far
        self.choices: dict[int, int] = {}  # by question: the place of the answer
        self._links = lab_links()
        self._place = running_cell()
        self.at = 0  # the question that is shown; behind the last: the score
        self.draw()

    # -- what the learner does -------------------------------------------------------------

    @property
    def question(self) -> OracleQuestion:
        return self._question(self.at)

    def _question(self, place: int) -> OracleQuestion:
        if place not in self._asked:
            name, seed = self._drawn[place]
            self._asked[place] = ask(KINDS[name], name, seed)
        return self._asked[place]

    def answer(self, choice: float) -> None:
        """The answer at this place, the first being 0."""
        with self.lock:
            if self.at in self.choices or self.at >= len(self._drawn):
                return
            self.choices[self.at] = int(choice)
            self.draw(self.question.verdict(int(choice)))
            self._keep()

    def next_question(self) -> None:
        self.turn_to(self.at + 1)

    def turn_to(self, place: float) -> None:
        """Any question; an earlier one shows its answer."""
        with self.lock:
            self.close_film()
            self.at = min(max(int(place), 0), len(self._drawn))
            self.draw(self.question.asks if self.at < len(self._drawn) else self._total())

    def step_through(self) -> None:
        """Open the run of this situation at the moment of the question, or close it."""
        with self.lock:
            situation = self.question.situation(KINDS)
            if self.film is not None:
                self.close_film()
            elif isinstance(situation, ClusterSituation):
                trace = SituationTrace(situation)
                self.open_film(trace, trace.asked)
            elif isinstance(situation, QuorumSituation):
                quorum = situation.begin(timing=0)
                asked = quorum.now
                situation.strike(quorum)
                self.open_quorum(quorum, asked)
            self.draw()
        self.refresh()

    def sections(self) -> LabLink:
        """The sections of the labs that show what was missed, as links."""
        missed = dict.fromkeys(section for row in self.scores() for section in row.sections)
        return LabLink([self._links[section] for section in missed if section in self._links])

    def scores(self) -> list[IdeaScore]:
        return scores((self._question(it), choice) for it, choice in sorted(self.choices.items()))

    def _keep(self) -> None:
        if self._place and (kept := progress_file()):
            rows = self.scores()
            ideas = {row.idea: [row.right, row.asked] for row in rows}
            kept.examined(self._place, self._exam, ideas)

    # -- drawing -----------------------------------------------------------------

    def draw(self, says: str = "") -> None:
        right = sum(self._question(it).right == choice for it, choice in self.choices.items())
        self.about = f"{right} of {len(self.choices)} right" if self.choices else "the run decides"
        self.draw_all(self.name, says)

    def painted(self) -> tuple[float, list[SceneShape]]:
        shapes = list(self._dots())
        if self.at >= len(self._drawn):
            return self._result(shapes)
        question = self.question
        head = f"{self.at + 1} of {len(self._drawn)} · {question.idea} · level {question.level}"
        shapes.append(text("head", MARGIN, 48, head, look="soft"))
        link = self._links.get(question.section)
        where = link.words if link else question.section
        sheet = QuestionSheet(question, self.choices.get(self.at), self.width, where)
        shapes.append(group(f"question {self.at}", 0, 56, sheet.shapes))
        return 56 + sheet.height, shapes

    def _dots(self) -> Iterator[SceneShape]:
        step = min(DOT * 2, (self.width - 2 * MARGIN) / len(self._drawn))
        for place in range(len(self._drawn)):
            choice = self.choices.get(place)
            is_right = choice is not None and self._question(place).right == choice
            look = "out" if choice is None else "alive" if is_right else "down"
            told = "not answered yet" if choice is None else "right" if is_right else "wrong"
            inside = [circle("dot", 0, 0, 6, look=look)]
            if place == self.at:
                inside.append(circle("here", 0, 0, 9.5, look="follower"))
            label = f"question {place + 1}: {told}"
            acts = (Act("turn_to", place, label),)
            yield group(
                f"dot {place}", MARGIN + 10 + place * step, 20, inside, label=label, acts=acts
            )

    def _result(self, shapes: list[SceneShape]) -> tuple[float, list[SceneShape]]:
        shapes.append(text("total", MARGIN, 58, self._total(), look="head"))
        y = 58.0
        for place, row in enumerate(self.scores()):
            y += LINE + 9
            found = [self._links[it].words for it in row.sections if it in self._links]
            drawn = score_row(row, found, self.width - 2 * MARGIN)
            shapes.append(group(f"idea {place}", MARGIN, y, drawn.shapes, label=drawn.label))
            y += drawn.height
        return y + 26, shapes

    def _total(self) -> str:
        right = sum(self._question(it).right == choice for it, choice in self.choices.items())
        return f"{right} of {len(self._drawn)} right."

    def offers(self) -> list[controls.Control]:
        if self.at >= len(self._drawn):
            return []
        found = []
        if self.at in self.choices and issubclass(KINDS[self.question.kind], WITH_A_RUN):
            words = "close the run" if self.film else "step through the run"
            found.append(controls.button("step_through", words, words))
        last = self.at + 1 == len(self._drawn)
        words = "the score" if last else "next question"
        found.append(controls.button("next_question", f"{words} ▸", words))
        return found

    def words(self) -> dict[str, Any]:
        return {"text/plain": self.name}
