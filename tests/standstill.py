"""A test that failed because the machine stood still is told apart from a test that failed.

A shared machine or its disk stands still for up to a minute. Sessions of brokers end then, clients
give up, and seven tests of a module fail, though nothing is wrong. So each process that runs tests
has a thread that sleeps for a moment and looks at the clock; what it overslept, the process stood
still, unless it was busy. A kernel charges a standstill of the machine to the process that ran as
it began, and that one seems to have been busy: so there is a process beside it, too, that only
sleeps, and writes a byte to the disk; it sleeps on each processor in turn, because one may stand
still alone. And it may be the servers alone that stand still, all that this process has started at
once.

    |-- a test, its fixtures --|-- the next --|-- a third --|
            |== 20 s ==|
      red: run again, up to       green: what both use has borne it, and is no excuse
      twice; green: it counts     any more; red: run again, with new fixtures

Invariant: only a test is run again, alone and with new fixtures, during which something stood still
for longer than BEARABLE_S, or during the test before it. It is named at the end, with the seconds.
Every other failure is one.

A cell of a notebook needs those before it: its whole notebook is run again, as far as the cell.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from subprocess import PIPE
from typing import NamedTuple, Self

import pytest
from _pytest.runner import runtestprotocol

from tests.limits import BEARABLE_S

TICK_S = 0.2  # between two looks at the clock
ATTEMPTS = 3  # a test is run once, and up to twice again
AGAIN = "rerun"  # the outcome of a run that does not count

attempt_key = pytest.StashKey[int]()
quiet_key = pytest.StashKey[bool]()


class Standstill(NamedTuple):
    """A time in which nothing went on, by the clock of `time.monotonic`."""

    start: float
    end: float


SLEEPER = f"""
import itertools, os, select, sys, tempfile, time
file = tempfile.TemporaryFile(buffering=0)
movable = hasattr(os, "sched_setaffinity")  # on Linux
processors = itertools.cycle(os.sched_getaffinity(0) if movable else [])
looked = time.monotonic()
while True:
    if movable:
        os.sched_setaffinity(0, {{next(processors)}})
    asked, _, _ = select.select([sys.stdin], [], [], {TICK_S})
    os.pwrite(file.fileno(), b"x", 0)
    os.fsync(file.fileno())
    now = time.monotonic()
    if now - looked - {TICK_S} > {BEARABLE_S}:
        print(looked, now)
    looked = now
    if asked:
        if not sys.stdin.readline():
            break
        print(flush=True)
"""


class Sleeper:
    """A process that sleeps, and notes what it overslept, or waited for the disk or a processor."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-E", "-S", "-c", SLEEPER], stdin=PIPE, stdout=PIPE, text=True
        )

    def new(self) -> list[Standstill]:
        """What it has noted since it was asked the last time."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found = list[Standstill]()
        while noted := self.process.stdout.readline().split():
            found.append(Standstill(*map(float, noted)))
        return found

    def stop(self) -> None:
        self.process.communicate()  # it ends when nobody can ask it any more


class StandstillWatch:
    """Looks at the clock, and at the servers, several times a second."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.process_time,
        sleeper: Sleeper | None = None,
    ) -> None:
        self._clock, self._cpu, self._sleeper = clock, cpu, sleeper
        self._lock = threading.Lock()
        self._looked, self._worked = clock(), cpu()
        self._stopped: float | None = None  # since when all servers have stood still
        self.seen: list[Standstill] = []

    def start(self) -> Self:
        threading.Thread(target=self._run, name="standstill", daemon=True).start()
        return self

    def stop(self) -> None:
        """End the process that sleeps; the thread goes on until the tests' process ends."""
        with self._lock:
            sleeper, self._sleeper = self._sleeper, None
        if sleeper is not None:
            sleeper.stop()

    def longest(self, since: float) -> float:
        """Seconds of the longest standstill that ended after a moment, or lasts until now."""
        with self._lock:
            self._look()
            if self._sleeper is not None:
                self.seen += self._sleeper.new()
            return max((end - start for start, end in self.seen if end > since), default=0.0)

    def _run(self) -> None:
        while True:
            time.sleep(TICK_S)
            with self._lock:
                self._look()

    def _look(self) -> None:
        now, worked = self._clock(), self._cpu()
        late = now - self._looked - TICK_S
        if late > BEARABLE_S and worked - self._worked < late / 2:  # or a test kept Python busy
            self.seen.append(Standstill(self._looked, now))
        if not _all_stopped():
            self._stopped = None
        elif self._stopped is None:
            self._stopped = self._looked
        elif now - self._stopped > BEARABLE_S:
            self.seen.append(Standstill(self._stopped, now))
        self._looked, self._worked = now, worked


def _all_stopped() -> bool:
    """Whether there are servers, and all of them are stopped. Only Linux tells.

    It is asked five times a second, so it looks no further than the first that is not stopped.
    """
    states = (_state(pid) for pid in _descendants("self"))
    servers = (state for state, command in states if "engine" in command or "java" in command)
    first = next(servers, "")
    return first == "T" and all(state == "T" for state in servers)


def _descendants(pid: str) -> Iterator[str]:
    """The processes that a process has started, and those that they have."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:  # it has ended meanwhile
        return
    for thread in threads:
        try:
            found = _read(f"/proc/{pid}/task/{thread}/children").split()
        except OSError:
            continue
        for child in found:
            yield child
            yield from _descendants(child)


def _state(pid: str) -> tuple[str, str]:
    """A letter, T for stopped, and the command; ("", "") if the process has ended meanwhile."""
    try:
        state = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0]
        return state, _read(f"/proc/{pid}/cmdline")
    except OSError:
        return "", ""


def _read(path: str) -> str:
    """Without a buffer: tests measure memory meanwhile, and Python's has 128 KB from 3.14 on."""
    with open(path, "rb", buffering=0) as file:
        return file.read().decode(errors="replace")


class StandstillPlugin:
    """Runs each test, and runs it again if something stood still meanwhile."""

    def __init__(self) -> None:
        self._since = time.monotonic()  # what tests use now has borne all that was before
        self._before: list[pytest.TestReport] = []  # of cells that failed as they were run again

    @cached_property
    def _watch(self) -> StandstillWatch:
        """Started with the first test: the process that only hands out tests has none."""
        return StandstillWatch(sleeper=Sleeper()).start()

    def pytest_sessionfinish(self) -> None:
        if "_watch" in vars(self):
            self._watch.stop()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        watch, began = self._watch, time.monotonic()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        stood = watch.longest(self._since)
        hit = stood > BEARABLE_S
        failed = any(report.failed for report in reports)
        if hit and failed and (attempt := item.stash.get(attempt_key, 1)) < ATTEMPTS:
            item.stash[attempt_key] = attempt + 1
            note(item, next(what_failed(report) for report in reports if report.failed), stood)
            self._renew(item, stood)
            self._run_again(item, nextitem)
            return True
        quiet = item.stash.get(quiet_key, False)
        if quiet:
            self._before += [report for report in reports if report.failed and not hit]
        else:
            # xdist takes reports of the test that it has asked for, and of no other.
            for report in self._before:
                report.nodeid, report.location = item.nodeid, item.location
            for report in [*self._before, *reports]:
                item.ihook.pytest_runtest_logreport(report=report)
            self._before = []
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if nextitem is None or nextitem not in cells_of(item):
            if failed and hit:
                self._renew(item, stood)
            elif watch.longest(began) <= BEARABLE_S:
                self._since = time.monotonic()
        return True

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        return (AGAIN, "R", "RUN AGAIN") if report.outcome == AGAIN else None

    def _run_again(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """By the hook, so that other plugins count this run's time, and its warnings, anew."""
        cells = cells_of(item)
        turn = cells[: cells.index(item) + 1] if cells else [item]
        for cell, following in zip(turn, [*turn[1:], nextitem], strict=True):
            if cell is not item:
                cell.stash[quiet_key] = True
                cell.stash[attempt_key] = ATTEMPTS
            item.config.hook.pytest_runtest_protocol(item=cell, nextitem=following)

    def _renew(self, item: pytest.Item, stood: float) -> None:
        """End what the module and the session have started: the next test starts it anew."""
        if item.config.pluginmanager.hasplugin("timeout"):
            item.ihook.pytest_timeout_cancel_timer(item=item)  # it ran on while nothing went on
        try:
            item.session._setupstate.teardown_exact(None)
        except (Exception, pytest.fail.Exception) as error:  # a cluster's sessions may be over
            note(item, f"its fixtures ended with {error!r}", stood)
        if cells_of(item):
            item.parent.timed_out = False  # type: ignore[union-attr]  # nbval's: skip the rest
        self._since = time.monotonic()


def what_failed(report: pytest.TestReport) -> str:
    """The exception's message: pytest marks its lines with an E."""
    lines = report.longreprtext.strip().splitlines()
    return next((line[1:].strip() for line in lines if line.startswith("E ")), lines[-1])


def note(item: pytest.Item, text: str, stood: float) -> None:
    """Tell the process that prints the end of the run: the seconds, and what failed."""
    report = pytest.TestReport(
        *(item.nodeid, item.location, {}, AGAIN, text, "call"),  # type: ignore[arg-type]
        standstill_s=stood,
    )
    item.ihook.pytest_runtest_logreport(report=report)


def cells_of(item: pytest.Item) -> list[pytest.Item]:
    """All cells of a test's notebook, in their order; [] if it is no cell."""
    if item.path.suffix != ".ipynb":
        return []
    return [other for other in item.session.items if other.parent is item.parent]
