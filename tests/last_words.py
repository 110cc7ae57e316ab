"""What the clusters of a failed test had done, and what their nodes had said last.

A test that fails once in a hundred runs can't be run again to look: what it leaves behind is in the
report of its failure. Nothing here decides whether a test has passed.
"""

import time
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from engine import Cluster
from engine.cluster.state import ClusterState

EVENTS, LINES = 60, 30  # the last so many, of each cluster and of each node


class LastWordsPlugin:
    """Adds sections to the report of a test that has failed, for each cluster that it was given."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed and report.when != "teardown":
            for name, value in getattr(item, "funcargs", {}).items():
                if isinstance(value, Cluster):
                    report.sections += [(f"{name}, {what}", said) for what, said in _said(value)]
        return report


def _said(cluster: Cluster) -> Iterator[tuple[str, str]]:
    try:
        happened = cluster.events()[-EVENTS:]
        ages = [f"{event.at / 1000 - time.time():7.2f} s" for event in happened]
        told = [f"{it.kind} {it.broker or ''} {it.data}" for it in happened]
        yield "its last events", "\n".join(map(" ".join, zip(ages, told, strict=True)))
        yield "what is out of sync, and groups", "\n".join(_state(cluster.state()))
        controllers = cluster.state().controllers.keys() - set(cluster.brokers)
        servers = [*cluster.zookeepers, *(f"controller-{it - 100}" for it in sorted(controllers))]
        for node in [*cluster.brokers, *servers]:
            lines = cluster.child(node).output().splitlines()[-LINES:]
            yield f"the last lines of {node}", "\n".join(lines)
    except Exception as error:  # it was not started, or has been stopped: that is told, too
        yield "no more", repr(error)


def _state(state: ClusterState) -> Iterator[str]:
    for partition, it in state.partitions.items():
        if it.leader < 0 or len(it.isr) < len(it.assignment):
            yield f"{partition} leader {it.leader} epoch {it.leader_epoch} isr {it.isr}"
    for name, group in state.groups.items():
        yield f"group {name} at {group.coordinator} {group.state} {group.offsets}"
