"""Judges a rule in a process of its own, so that nothing in it can hang whoever asked.

    judge_apart ──fork──> judge ──> progress, then the score ──> pipe ──> Score
                            └──> an attempt that takes ATTEMPT_S ends the process, with a traceback

The guard stops an endless loop after so many steps, but not one that catches everything (a bare
`except:`), nor one inside a built-in function. Those end with the process. A browser tab has no
processes: there it is judged here, and what does not end is the tab's to stop.
"""

import faulthandler
import re
import signal
import tempfile
import warnings
from multiprocessing import get_context
from multiprocessing.connection import Connection
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

from engine.browser import IN_BROWSER
from proof.challenges.challenge import (
    SEEDS,
    AttemptStart,
    Broken,
    Challenge,
    Say,
    Score,
    check_methods,
    judge,
)
from proof.challenges.guard import RuleFailure, file_of

ATTEMPT_S = 60.0  # that one attempt may take, on a slow machine too


def judge_apart(
    challenge: Challenge,
    rule: type,
    *,
    first: int = 0,
    seeds: int = SEEDS,
    say: Say = lambda text: None,
    attempt_s: float = ATTEMPT_S,
) -> Score:
    """As `judge`; a rule that does not come to an end is one more that fails by itself."""
    if IN_BROWSER:
        return judge(challenge, rule, first=first, seeds=seeds, say=say)
    check_methods(challenge, rule)
    context = get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    with receiver, TemporaryDirectory() as scratch, TemporaryFile("w+") as traceback:
        arguments = sender, traceback, scratch, challenge, rule, first, seeds, attempt_s
        child = context.Process(target=_judge, args=arguments, daemon=True)
        with warnings.catch_warnings():
            # A kernel has threads of its own; the child uses none of what they lock.
            warnings.simplefilter("ignore", DeprecationWarning)
            child.start()
        sender.close()
        try:
            return _listen(receiver, traceback, challenge, rule, say)
        finally:
            child.kill()
            child.join()


def _listen(
    receiver: Connection, traceback: IO[str], challenge: Challenge, rule: type, say: Say
) -> Score:
    last = ""
    while True:
        try:
            kind, content = receiver.recv()
        except EOFError:
            traceback.seek(0)
            raise RuleFailure(f"{_end(traceback.read(), rule)}: {last}.") from None
        if kind == "failure":
            raise RuleFailure(content)
        if kind == "score":
            survived, *failures = content
            broken, shrunk = (it and Broken(challenge, rule, *it) for it in failures)
            return Score(challenge, survived, broken, shrunk)
        last = content
        say(content)


def _end(traceback: str, rule: type) -> str:
    """Why the process has ended without a score: only a late attempt leaves a traceback."""
    if not traceback:
        return "The rule ends the process in which it is judged"
    return f"The rule does not come to an end{_line(traceback, rule)}"


def _line(traceback: str, rule: type) -> str:
    """The innermost line of the learner's own file: a traceback of faulthandler begins there."""
    place = re.escape(file_of(rule))
    lines = re.findall(rf'File "{place}", line (\d+) in (\w+)', traceback)
    own = [(number, method) for number, method in lines if hasattr(rule, method)]
    return f" ({own[0][1]}, line {own[0][0]})" if own else ""


def _judge(
    sender: Connection,
    traceback: IO[str],
    scratch: str,
    challenge: Challenge,
    rule: type,
    first: int,
    seeds: int,
    attempt_s: float,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked hears it, and ends this process
    tempfile.tempdir = scratch  # goes with whoever asked, however this process ends

    def say(text: AttemptStart | str) -> None:
        faulthandler.dump_traceback_later(attempt_s, exit=True, file=traceback)
        sender.send(("progress", text))

    def told(broken: Broken | None) -> tuple[Any, ...] | None:
        return broken and tuple(broken)[2:]

    try:
        score = judge(challenge, rule, first=first, seeds=seeds, say=say)
        content = dict(score.survived), told(score.broken), told(score.shrunk)
        sender.send(("score", content))
    except RuleFailure as failure:
        sender.send(("failure", str(failure)))
    except Exception as error:  # of the engine, about what the rule has returned
        text = f"The rule cannot be judged: {type(error).__name__}: {error}."
        sender.send(("failure", text))
