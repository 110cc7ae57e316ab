"""Chapter: one challenge in a notebook: what the rule gets, what it returns, and hints.

    chapter = Chapter("high-watermark")        the methods of the rule, and what they mean
    chapter

    class Mine: ...                            the learner's rule
    chapter.run(Mine)                          judges it, and shows how far it comes

The rule is judged in a process of its own, so nothing in it can hang the notebook. The best result
is kept in the learner's progress.
"""

import inspect
import re
from collections.abc import Iterator
from typing import ClassVar

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from engine.errors import invalid_request
from proof.challenges.challenge import SEEDS, Challenge, Score
from proof.challenges.child import judge_apart
from proof.challenges.guard import RuleFailure
from proof.challenges.table import CHALLENGES
from widgets import controls
from widgets.challenge.run import ChallengeRun
from widgets.progress.record import progress_file, running_cell
from widgets.scene import Scene, SceneShape, wrap
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn

MARGIN, LINE, INDENT = 16, 19, 14
ARGUMENT = re.compile(r"`(\w+)`: ")


class Chapter(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = frozenset({"hint"})

    def __init__(self, name: str) -> None:
        super().__init__()
        self.challenge = _named(name)
        self.name = self.challenge.title
        self.hinted = 0  # how many hints were asked for
        self.draw()

    def hint(self) -> None:
        with self.lock:
            self.hinted = min(self.hinted + 1, len(self.challenge.hints))
            self.draw(self.challenge.hints[self.hinted - 1])

    def run(self, rule: type, *, seeds: int = SEEDS) -> ChallengeRun | None:
        """Judge a rule. A notebook shows the picture at once, and it goes on while the rule is
        judged; where there is no notebook it is returned."""
        if seeds < 1:
            raise invalid_request(f"seeds={seeds}: a stage has 1 attempt or more")
        shown, in_a_notebook = ChallengeRun(self.challenge, seeds), InteractiveShell.initialized()
        if in_a_notebook:
            display(shown)  # type: ignore[no-untyped-call]
        try:
            self._expect_own(rule)
            score = judge_apart(self.challenge, rule, seeds=seeds, say=shown.progress)
        except RuleFailure as failure:
            shown.failed(str(failure))
        except KeyboardInterrupt:
            shown.failed("It was stopped. Run the cell again.")
            raise
        else:
            self._keep(score, seeds)
            shown.done(score)
        return None if in_a_notebook else shown

    def _expect_own(self, rule: type) -> None:
        """RuleFailure for a rule of another challenge: `chapter` is the last one that was made."""
        others = [it for it in CHALLENGES.values() if it is not self.challenge and _fits(rule, it)]
        if others and not _fits(rule, self.challenge):
            own = others[0]
            raise RuleFailure(
                f"This is “{self.name}”, and {rule.__name__} is a rule for “{own.title}”. Run the "
                f'cell with Chapter("{own.name}") first, and then this one again.'
            )

    def _keep(self, score: Score, seeds: int) -> None:
        """A rule holds only after all attempts: with fewer it has passed some stages."""
        if running_cell() is not None and (kept := progress_file()):
            passed = len(score.survived) - (score.broken is not None)
            holds = score.broken is None and seeds >= SEEDS
            kept.judged(self.challenge.name, passed, score.attempts, holds=holds)

    def still(self) -> dict[str, str]:
        """In words: fifteen pictures of words would be a large notebook."""
        return {"text/plain": "\n".join([self.name, *(words for _, words, _ in self._lines())])}

    # -- drawing -----------------------------------------------------------------

    def draw(self, says: str = "") -> None:
        shapes, y = list[SceneShape](), 30.0
        for key, words, look in self._lines():
            x = MARGIN if look == "mono bold" else MARGIN + INDENT
            size = 14.5 if look == "mono bold" else 12
            column = TextColumn(x, y, self.width - x - MARGIN, LINE)
            column.put(key, wrap(words, column.room, size), look)
            shapes, y = shapes + column.shapes, column.y + 4
        self.about = f"{self.challenge.idea} · {', '.join(self.challenge.trial.stages)}"
        title = f"{self.name} {self.challenge.idea}"
        self.show(Scene(self.width, y, shapes, title=title, says=says), self._controls())

    def _lines(self) -> Iterator[tuple[str, str, str]]:
        for name in self.challenge.methods:
            method = getattr(self.challenge.interface, name)
            names = [it for it in inspect.signature(method).parameters if it != "self"]
            yield f"{name} signature", f"{name}({', '.join(names)})", "mono bold"
            told = " ".join(inspect.cleandoc(method.__doc__ or "").split())
            first, *rest = ARGUMENT.split(told)
            yield f"{name} told", first.replace("`", "").strip(), ""
            for argument, meaning in zip(rest[::2], rest[1::2], strict=True):
                words = f"{argument}: {meaning.replace('`', '').strip()}"
                yield f"{name} {argument}", words, "small"
        for place, hint in enumerate(self.challenge.hints[: self.hinted]):
            yield f"hint {place}", f"Hint: {hint}", "bold lead"

    def _controls(self) -> list[controls.Control]:
        off = self.hinted == len(self.challenge.hints)
        words = "one more hint" if self.hinted else "a hint"
        return [controls.button("hint", words, "show a hint for this challenge", off=off)]


def _fits(rule: object, challenge: Challenge) -> bool:
    return all(callable(getattr(rule, name, None)) for name in challenge.methods)


def _named(name: str) -> Challenge:
    if name not in CHALLENGES:
        known = ", ".join(CHALLENGES)
        raise invalid_request(f"there is no challenge {name}: {known}")
    return CHALLENGES[name]
