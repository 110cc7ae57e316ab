"""The judgement of a learner's rule: each attempt a dot, then what was promised and what happened.

    calm            ● ● ● ● ● ● ● ● ● ● ● ●
    slow network    ● ● ● ✗ ○ ○ ○ ○ ○ ○ ○ ○
    Acknowledged at offset 1, and leader 3 does not have it.      with 2 faults
    ───────────────────────────────────────
    ClusterView of that storm, at the moment where the promise broke

It is shown while the rule is judged. A storm opens below, at the moment in which its promise broke;
a case is told in a sentence.
"""

from collections.abc import Iterator

from proof.challenges.challenge import SEEDS, AttemptStart, Broken, Challenge, Score, counted
from proof.challenges.guard import RuleFailure
from widgets.film.film_stage import FilmStage
from widgets.scene import SceneShape, circle, group, text
from widgets.text_column import TextColumn

MARGIN, LINE, ROW, STEP = 16, 19, 24, 16
NAMES = 150  # px for the names of the stages
TOP = 30


class ChallengeRun(FilmStage):
    def __init__(self, challenge: Challenge, attempts: int = SEEDS) -> None:
        super().__init__(challenge.title)
        self.challenge, self._attempts = challenge, attempts
        self.begun: dict[str, int] = {}  # attempts of each stage, the running one too
        self.score: Score | None = None
        self.failure = ""  # of the rule itself, before any attempt was over
        self._otherwise = ""  # why a broken storm has no run below it
        self._now = "it begins"
        self.draw()

    def progress(self, told: AttemptStart | str) -> None:
        """One more attempt, or one more step of the search for a shorter run."""
        if isinstance(told, AttemptStart):
            self.begun[told.stage] = told.number
        self._now = str(told)
        self.draw()

    def failed(self, text: str) -> None:
        """The rule cannot be judged at all."""
        self.failure = text
        self.draw(text)

    def done(self, score: Score) -> None:
        self.score = score
        shown = self.shown
        if shown is not None and not shown.by_itself and not shown.shown:
            try:
                trace = shown.trace()
            except RuleFailure as otherwise:
                self._otherwise = str(otherwise)
            else:
                assert trace.violation is not None
                self.open_film(trace, trace.violation.at)
        self.draw(str(score))

    @property
    def shown(self) -> Broken | None:
        """The failure that is told: the smallest one."""
        return self.score and (self.score.shrunk or self.score.broken)

    @property
    def holds(self) -> bool:
        return self.score is not None and self.score.broken is None

    def still(self) -> dict[str, str]:
        """In words: a storm with its stills would be as large as a lab."""
        told = self.failure or str(self.score or self._now)
        return {"text/plain": f"{self.name}\n{told}"}

    # -- drawing -----------------------------------------------------------------

    def draw(self, says: str = "") -> None:
        if self.failure or self.score is not None:
            self.about = "it holds" if self.holds else "it does not hold"
        else:
            self.about = self._now
        self.draw_all(self.name, says)

    def painted(self) -> tuple[float, list[SceneShape]]:
        shapes, y = list[SceneShape](), float(TOP)
        for stage in self.challenge.trial.stages:
            shapes.append(
                group(stage, MARGIN, y, list(self._stage(stage)), label=self._told(stage))
            )
            y += ROW
        y += 8
        column = TextColumn(MARGIN, y, self.width - 2 * MARGIN, LINE)
        for key, words, look in self._sentences():
            column.write(key, words, look, size=14 if look == "head" else 12)
            column.y += 3
        return column.y, shapes + column.shapes

    def _survived(self, stage: str) -> int:
        if self.score is not None:
            return self.score.survived.get(stage, 0)
        return (
            max(0, self.begun.get(stage, 0) - 1) if self._runs(stage) else self.begun.get(stage, 0)
        )

    def _runs(self, stage: str) -> bool:
        return bool(self.begun) and stage == [*self.begun][-1]

    def _is_broken(self, stage: str) -> bool:
        broken = self.score and self.score.broken
        return broken is not None and broken.stage == stage

    def _told(self, stage: str) -> str:
        told = f"{stage}: {self._survived(stage)} of {self._attempts} survived"
        return f"{told}, then it broke" if self._is_broken(stage) else told

    def _stage(self, stage: str) -> Iterator[SceneShape]:
        yield text("name", 0, 0, stage, look="bold" if self._runs(stage) else "")
        survived = self._survived(stage)
        for place in range(self._attempts):
            x = NAMES + place * STEP
            if place < survived:
                look = "alive"
            elif place == survived and self._is_broken(stage):
                look = "down"
            elif (
                place == survived and self._runs(stage) and self.score is None and not self.failure
            ):
                look = "follower"
            else:
                look = "out"
            yield circle(f"dot {place}", x, -4, 5, look=look)

    def _sentences(self) -> Iterator[tuple[str, str, str]]:
        shown = self.shown
        if self.failure:
            yield "failure", self.failure, "bold bad"
        elif self.holds:
            yield "holds", "It holds.", "bold ok"
            if self._attempts < SEEDS:
                tried = counted(self._attempts, "attempt")
                yield "few", f"That was {tried} of each stage: {SEEDS} count.", "small"
            yield "read", f"Now read {self.challenge.read}.", "small"
        elif shown is not None:
            what = shown.text if shown.by_itself else f"Broken: {shown.text}"
            yield "what", what, "bold bad"
            if shown.shown:
                yield "case", shown.shown, "small"
            yield "where", self._where(shown), "small"
            if self._otherwise:
                yield "otherwise", self._otherwise, "small"

    def _where(self, shown: Broken) -> str:
        trial = self.challenge.trial.of(shown.stage)
        where = f"In stage “{shown.stage}”, {trial.noun} {shown.seed}"
        if shown.by_itself:
            return f"{where}. No promise was broken yet: the rule itself has failed."
        size = counted(shown.size, trial.unit)
        first = self.score.broken if self.score else None
        short = ""
        if first is not None and first.size > shown.size:
            short = (
                f" The first failure had {counted(first.size, trial.unit)}; this is a shorter one."
            )
        return f"{where}, with {size}.{short}"
