"""Calls a learner's rule in the place of the engine's own.

    engine ──> RuleGuard.call("high_watermark", ...) ──> the learner's method
                 arguments cannot be changed            at most so many steps
                 the result has the right type          an error is a sentence that names the line

Nothing that a rule does hangs or damages the run: the first failure is kept in `failure`, and the
run is over.
"""

import copyreg
import inspect
import reprlib
import sys
import textwrap
import traceback
from collections.abc import Mapping, Set
from types import FrameType, MappingProxyType
from typing import Any, NoReturn

STEPS = 300_000  # of the interpreter, that one call may take
LONGEST = 300  # letters of an error


def _thawed(mapping: MappingProxyType[Any, Any]) -> Any:
    """A rule may take a deep copy of what it gets: of a read-only mapping, a dict."""
    return dict, (dict(mapping),)


copyreg.pickle(MappingProxyType, _thawed)


class RuleFailure(Exception):
    """A rule has failed by itself, in one sentence."""


class RunOver(SystemExit):
    """Ends a simulated run from within: asyncio lets SystemExit leave every task and loop."""


class TooManySteps(BaseException):
    """One call takes more steps than any rule needs. It passes by a rule's `except Exception`."""


class RuleGuard:
    def __init__(self, rule: object, steps: int = STEPS) -> None:
        self.rule = rule
        self.failure: RuleFailure | None = None
        self._most, self._taken = steps, 0
        self._file = file_of(type(rule))

    def call(self, method: str, result: type, *arguments: Any) -> Any:
        """Ends the run by RunOver if the rule fails: see `failure`."""
        if self.failure is not None:
            raise RunOver
        tracer = sys.gettrace()
        self._taken = 0
        sys.settrace(self._trace)
        try:
            found = getattr(self.rule, method)(*map(frozen, arguments))
        except TooManySteps as error:
            sys.settrace(tracer)
            where = f"{method}{self._line(error)}"
            self._fail(f"{where} does not come to an end: it has taken {self._most:,} steps")
        except BaseException as error:  # KeyboardInterrupt, too, if the rule raises it
            sys.settrace(tracer)
            self._fail(f"{method}{self._line(error)}: {type(error).__name__}: {_text(error)}")
        finally:
            sys.settrace(tracer)
        if not _is_a(found, result):
            self.refuse(method, found, _a(result))
        return found

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        """An endless loop on one line is no new line, so single steps are counted."""
        frame.f_trace_opcodes = True
        self._taken += 1
        if self._taken > self._most:
            raise TooManySteps
        return self._trace

    def refuse(self, method: str, found: object, wanted: str) -> NoReturn:
        """What a rule has returned has another type, or no meaning."""
        self._fail(f"{method} returns {reprlib.repr(found)}, and not {wanted}")

    def reject(self, method: str, found: object, why: str) -> NoReturn:
        """What a rule has returned cannot be done."""
        self._fail(f"{method} returns {reprlib.repr(found)}: {why}")

    def _line(self, error: BaseException) -> str:
        """Where the learner's own code was when it happened."""
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == self._file
        ]
        return f", line {lines[-1]}" if lines else ""

    def _fail(self, text: str) -> NoReturn:
        self.failure = RuleFailure(f"{text}.")
        raise RunOver from None


def file_of(rule: type) -> str:
    """Where a learner's class is written, as a traceback names it; of a notebook: its cell."""
    methods = (it for it in vars(rule).values() if inspect.isfunction(it))
    return next((method.__code__.co_filename for method in methods), "")


def frozen(value: Any) -> Any:
    """A copy of a value that cannot be changed: a tuple, a frozenset, a read-only mapping."""
    if isinstance(value, Mapping):
        return MappingProxyType(dict(value))
    if isinstance(value, set):
        return frozenset(value)
    return tuple(value) if isinstance(value, list) else value


def _text(error: BaseException) -> str:
    try:
        return textwrap.shorten(str(error), LONGEST, placeholder=" …")
    except Exception:  # the learner's, of an error that cannot tell what it is
        return "it has no text"


def _is_a(found: object, kind: type) -> bool:
    """True is no whole number. A defaultdict is a dict, and any set is a frozenset."""
    loose: dict[type, type] = {dict: dict, frozenset: Set}
    return isinstance(found, loose[kind]) if kind in loose else type(found) is kind


def _a(kind: type) -> str:
    names = {int: "a whole number", bool: "True or False", frozenset: "a set", str: "a text"}
    return names.get(kind, f"a {kind.__name__}")
