"""Throughput, delay, many topics: every load on every peer in turn, round after round.

A machine is faster in one minute than in the next, so only figures of one round are compared. A JVM
translates what it runs often while it serves: the first WARM rounds, with all loads, do not count.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.brokers.driver import Driver, LoadFailed
from bench.brokers.system import System
from bench.brokers.systems import MANY, Setting

Report = Callable[[str], None]
Numbers = dict[str, dict[str, list[float]]]  # by load, by setting: one for each round
TOPICS = (1, 10, 100, 500)
ATTEMPTS = 3
WARM = 3  # rounds that do not count: each server has had so many of the same loads before
RATE = 1000  # messages a second, where their delay is measured


class SpeedOptions(NamedTuple):
    messages: int
    single: int  # messages sent one by one
    rounds: int


@contextmanager
def running(settings: Sequence[Setting], home: Path, report: Report) -> Iterator[dict[str, Driver]]:
    """A driver for each setting; settings that need the same servers share them."""
    with ExitStack() as stack:
        systems: dict[object, System] = {}
        drivers = {}
        for number, each in enumerate(settings):
            key = each.system, each.nodes, tuple(each.server.items())
            folder = home / str(number)
            folder.mkdir()
            if key not in systems:
                report(f"starting {each.system.name}")
                systems[key] = each.system(folder, each.nodes, **each.server)
                stack.callback(systems[key].stop)
                systems[key].start()
            wanted = {**systems[key].settings(), **each.client}
            drivers[each.name] = stack.enter_context(Driver(wanted, folder / "load.log"))
        yield drivers


def measure(drivers: dict[str, Driver], options: SpeedOptions, report: Report) -> Iterator[Numbers]:
    """What was measured so far, after each round."""
    loads = ("batched", "read", "single", "p50", "p99")
    found: Numbers = {load: {name: [] for name in drivers} for load in loads}
    for turn in range(1 - WARM, options.rounds + 1):  # up to 0: they warm up
        for name, driver in drivers.items():
            report(f"round {turn} of {options.rounds}: {name}")
            numbers = _again(driver, f"t{turn}-{name.replace(' ', '-')}", options, report)
            for load, number in zip(loads, numbers, strict=True):
                found[load][name] += [number] if turn > 0 else []
        if turn > 0:
            yield found


def _again(driver: Driver, topic: str, options: SpeedOptions, report: Report) -> tuple[float, ...]:
    """On a busy machine a client may give up, although all is well: then once more, all of it."""
    for attempt in range(ATTEMPTS - 1):
        try:
            return _round(driver, f"{topic}-{attempt}", options)
        except LoadFailed as failed:
            report(f"once more, after: {failed}")
    return _round(driver, f"{topic}-{ATTEMPTS}", options)


def _round(driver: Driver, topic: str, options: SpeedOptions) -> tuple[float, ...]:
    batched = options.messages / driver.number("batched", topic, options.messages)
    read = options.messages / driver.number("read", topic, options.messages)
    single = options.single / driver.number("single", f"one-{topic}", options.single)
    p50, p99 = driver.do("latency", f"late-{topic}", 3 * RATE, RATE)
    return batched, read, single, float(p50), float(p99)


def many(drivers: dict[str, Driver], options: SpeedOptions, report: Report) -> Iterator[Numbers]:
    """The same load on more and more topics, in messages a second; so far, after each round."""
    chosen = {name: driver for name, driver in drivers.items() if name in MANY}
    found: Numbers = {str(topics): {name: [] for name in chosen} for topics in TOPICS}
    for turn in range(1 - WARM, options.rounds + 1):
        for topics in TOPICS:
            for name, driver in chosen.items():
                report(f"round {turn} of {options.rounds}: {topics} topics, {name}")
                seconds = _many(driver, topics, options.messages, report)
                found[str(topics)][name] += [options.messages / seconds] if turn > 0 else []
        if turn > 0:
            yield found


def _many(driver: Driver, topics: int, messages: int, report: Report) -> float:
    """Topics that were created stay, so a second attempt goes on from there."""
    for _ in range(ATTEMPTS - 1):
        try:
            return driver.number("many", f"many-{topics}-", topics, messages)
        except LoadFailed as failed:
            report(f"once more, after: {failed}")
    return driver.number("many", f"many-{topics}-", topics, messages)
