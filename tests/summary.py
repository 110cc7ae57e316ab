"""What `make test` says at its end: how much was run, what was run again, what others run.

A run in several processes selects its tests in each of them. One tells the main process what was
left out; a run in a single process tells itself.
"""

import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter

from tests.standstill import AGAIN

ELSEWHERE = {  # a mark, what it stands for, and what runs it
    "spark": "{} on Spark (make streams)",
    "advanced": "{} of labs and rare faults (make advanced)",
    "long": "{} longer ones (make long)",
}
FOLDERS = "those in a browser (make browser) and beside real Kafka (make real)"


class SummaryPlugin:
    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._left_out = Counter[str]()

    def pytest_deselected(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            marks = {mark.name for mark in item.iter_markers()}
            self._left_out[next((mark for mark in ELSEWHERE if mark in marks), "")] += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["left out"] = dict(self._left_out)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """xdist calls it in the main process when a worker has ended."""
        self._left_out.update({} if self._left_out else node.workeroutput.get("left out", {}))

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        outcomes = terminalreporter.stats
        again = outcomes.get(AGAIN, [])
        if not (again or self._left_out):
            return
        run = {report.nodeid for kind in ("passed", "failed") for report in outcomes.get(kind, [])}
        left_out = [text.format(self._left_out[mark]) for mark, text in ELSEWHERE.items()]
        minutes, seconds = divmod(round(time.monotonic() - self._begun), 60)
        lines = [
            f"{len(run):,} tests were run, in {minutes} min {seconds} s.",
            f"{len(outcomes.get('failed', []) + outcomes.get('error', []))} failed.",
            f"Not run here: {', '.join(left_out)},",
            f"and {FOLDERS}.",
            rerun_line(again),
        ]
        terminalreporter.section("summary", sep="=")
        terminalreporter.write_line("\n".join(lines))
        for report in again:
            terminalreporter.write_line(
                f"  {report.nodeid} (stood still for {report.standstill_s:.1f} s): "
                + report.longreprtext.strip().partition("\n")[0][:100]
            )


def rerun_line(again: list[Any]) -> str:
    count = len({report.nodeid for report in again})
    if not count:
        return "No test was run again: nothing stood still while one failed."
    longest = max(report.standstill_s for report in again)
    were = "1 was" if count == 1 else f"{count} were"
    return f"{were} run again, because something stood still, for up to {longest:.0f} s:"
