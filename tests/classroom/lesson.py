"""A lesson: everybody starts a cluster, all of them run at once, and then everybody leaves.

    everybody    sits down, starts a cluster          so many abreast, as people press a key
    together     all clusters are there: measured, no port or directory twice
    everybody    writes, loses the leader, reads      only their own records
    everybody    leaves, in one of three ways         and nothing of their cluster is left

Invariant: when a lesson is over, well or not, no kernel and no cluster of it is left.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.classroom.student import Memory, Student, runs
from tests.limits import CELL_S

LOOK = 0.1  # seconds between two looks
WAYS: dict[str, Callable[[Student], Awaitable[None]]] = {
    "shut down": Student.shut_down,
    "killed": Student.be_killed,
    "interrupted and restarted": Student.restart,
}


@dataclass
class Report:
    students: int
    starts: list[float] = field(default_factory=list)  # seconds, of each cluster
    memory: list[Memory] = field(default_factory=list)
    processes: int = 0
    threads: int = 0
    seconds: dict[str, float] = field(default_factory=dict)  # of each part of the lesson
    left: dict[str, int] = field(default_factory=dict)  # how many left in which way

    def __str__(self) -> str:
        def mb(numbers: Sequence[int]) -> str:
            return f"{sum(numbers) / len(numbers) / 1e6:.0f} MB"

        each = {name: mb([getattr(it, name) for it in self.memory]) for name in Memory._fields}
        ways = ", ".join(f"{count} {way}" for way, count in self.left.items())
        times = ", ".join(f"{part} {took:.0f} s" for part, took in self.seconds.items())
        return (
            f"{self.students} students, each with a kernel and a cluster, all at once\n"
            f"start of a cluster   {min(self.starts):.1f} to {max(self.starts):.1f} s, "
            f"half of them within {median(self.starts):.1f} s\n"
            f"memory               {sum(it.all for it in self.memory) / 1e9:.1f} GB in all, "
            f"{mb([it.all for it in self.memory])} a student: "
            f"{', '.join(f'{name} {size}' for name, size in each.items())}\n"
            f"processes            {self.processes}, with {self.threads} threads\n"
            f"ports, directories   nobody has another one's\n"
            f"records              everybody read all of their own, and no others\n"
            f"kernels              {ways}; nothing is left of any cluster\n"
            f"time                 {times}"
        )


async def lesson(count: int, brokers: int, abreast: int, folder: Path) -> Report:
    report = Report(count)
    class_ = [Student(f"student{number}", brokers, folder) for number in range(1, count + 1)]
    try:
        with _timed(report, "starting"):
            await _everybody(class_, abreast, Student.sit_down, Student.start)
        _apart(class_)
        _measure(class_, report)
        with _timed(report, "working"):
            await _everybody(class_, abreast, Student.write, Student.lose_the_leader, Student.read)
        with _timed(report, "leaving"):
            await _leave(class_, abreast, report)
    finally:
        await _everybody([it for it in class_ if it.present], abreast, Student.shut_down)
    return report


async def _everybody(
    class_: Sequence[Student], abreast: int, *steps: Callable[[Student], Awaitable[None]]
) -> None:
    places = asyncio.Semaphore(abreast)

    async def go(student: Student) -> None:
        async with places:
            for step in steps:
                await step(student)

    await asyncio.gather(*map(go, class_))


def _apart(class_: Sequence[Student]) -> None:
    places = [student.place for student in class_ if student.place]
    ports = [port for place in places for port in place.ports]
    assert len(places) == len(class_)
    assert len(set(ports)) == len(ports), f"a port is taken twice: {sorted(ports)}"
    assert len({place.folder for place in places}) == len(places)


def _measure(class_: Sequence[Student], report: Report) -> None:
    report.starts = [student.took for student in class_]
    report.memory = [student.memory() for student in class_]
    everything = [it for student in class_ for it in (student.process(), *student.family)]
    alive = [process for process in everything if runs(process)]
    report.processes = len(alive)
    report.threads = sum(process.num_threads() for process in alive)


async def _leave(class_: Sequence[Student], abreast: int, report: Report) -> None:
    for number, (way, leave) in enumerate(WAYS.items()):
        those = class_[number :: len(WAYS)]
        await _everybody(those, abreast, leave, _gone)
        report.left[way] = len(those)


async def _gone(student: Student) -> None:
    deadline = time.monotonic() + CELL_S
    while not student.is_gone:
        assert time.monotonic() < deadline, f"{student.name} has left, and {student.remains}"
        await asyncio.sleep(LOOK)


@contextmanager
def _timed(report: Report, part: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    report.seconds[part] = time.monotonic() - began
