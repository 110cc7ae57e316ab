"""Trial: an exercise that is solved in code, and judged by running that code.

    trial = Trial("Find where an offset lies", agrees_with(lookup, EXAMPLES), hint="Halve.")
    trial                                   the task, and a hint for whoever asks
    trial.run(my_lookup)                    Not yet: for (5, [0, 9]) it gives 9, and the engine 0.

The test is given the learner's function, and returns what is wrong with it: "" when nothing is.
`agrees_with` makes one out of the engine's own function and what it is to be tried on. An error in
the learner's code is an answer too, and is told in a sentence.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from widgets.task import Task

Code: TypeAlias = Callable[..., Any]
LONG = 200  # letters of a value, in a message


class Outcome:
    """What came of a try. What it says is what a cell shows."""

    def __init__(self, passed: bool, words: str) -> None:
        self.passed, self.words = passed, words

    def __repr__(self) -> str:
        return self.words


class Trial(Task):
    DONE = "Done: it does what the engine's own code does."
    ABOUT = "your code is run, not read"

    def __init__(self, task: str, test: Callable[[Code], str], *, hint: str = "") -> None:
        super().__init__(task, hint)
        self.test = test
        self.judged("nothing was tried")

    def run(self, code: Code) -> Outcome:
        """Try the learner's code. Each try is told for itself; one that passes is remembered."""
        missing = self.test(code)
        self.judged(missing)
        return Outcome(not missing, f"Not yet: {missing}." if missing else self.DONE)


def agrees_with(engine: Code, examples: Iterable[tuple[Any, ...]]) -> Callable[[Code], str]:
    """A test: the same as the engine's own function, on every example (a tuple of arguments)."""
    tried = list(examples)

    def test(code: Code) -> str:
        for each in tried:
            truth = engine(*each)
            try:
                found = code(*each)
            except Exception as error:  # the learner's, and told
                return f"for {_short(each)} it raises {type(error).__name__}: {error}"
            if found != truth:
                return (
                    f"for {_short(each)} it gives {_short(found)}, and the engine {_short(truth)}"
                )
        return ""

    return test


def _short(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= LONG else words[: LONG - 1] + "…"
