"""kill -9 under load, and what was lost; the active node of several, and how long nobody serves.

SIGKILL ends a process, not a machine: what the system has in its page cache stays. So these losses
are those of a crash of the server, and not of a loss of power.
"""

import random
import time
from pathlib import Path
from typing import Any

from bench.brokers.driver import Driver, LoadFailed
from bench.brokers.speed import Report
from bench.brokers.system import System
from bench.brokers.systems import Setting

TOGETHER = 100  # messages handed over at once; up to ten times as many are on their way
STORM = (0.3, 1.2)  # seconds under load before the kill
ELECTION = 60.0  # seconds; more than any session lasts
PATIENCE = 15.0  # seconds for which a service may be away before it counts as gone


def crashes(setting: Setting, kills: int, home: Path, report: Report) -> dict[str, Any]:
    """Kill the server again and again, each time with a topic of its own."""
    system = setting.system(home, setting.nodes, **setting.server)
    found: dict[str, Any] = {"words": setting.words, "confirmed": [], "lost": [], "twice": []}
    try:
        system.start()
        with Driver({**system.settings(), **setting.client}, home / "load.log") as driver:
            for number in range(kills):
                report(f"kill {number + 1} of {kills}: {setting.name}")
                confirmed, lost, twice = _crash(system, driver, f"crash-{number}")
                found["confirmed"].append(confirmed)
                found["lost"].append(lost)
                found["twice"].append(twice)
    finally:
        system.stop()
    return found


def _crash(system: System, driver: Driver, topic: str) -> tuple[int, int, int]:
    driver.do("storm", topic, TOGETHER)
    deadline = time.monotonic() + ELECTION
    while not driver.number("sofar"):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing of {topic} was confirmed")
        time.sleep(0.02)
    time.sleep(random.uniform(*STORM))  # the load itself
    victim = system.active(topic)
    system.kill(victim)
    _, confirmed = map(int, driver.do("stopped"))
    if system.size > 1:
        _await_other(system, topic, victim)
    system.restart(victim)
    return confirmed, *_check(driver, topic)


def _await_other(system: System, topic: str, victim: int) -> None:
    """Until another node has taken over, or the killed one would just come back as it was."""
    deadline = time.monotonic() + ELECTION
    while system.active(topic) in (victim, -2):  # -2: nobody leads
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody took over {topic}")
        time.sleep(0.05)


def failover(setting: Setting, home: Path, report: Report) -> dict[str, Any]:
    """Kill the active node, then the next one: seconds without service, and what was lost."""
    system = setting.system(home, setting.nodes, **setting.server)
    try:
        system.start()
        with Driver({**system.settings(), **setting.client}, home / "load.log") as driver:
            driver.do("steady", "orders")
            _await_more(driver, 100, ELECTION)
            away: list[float | None] = []
            dead: list[int] = []
            for _ in range(min(2, setting.nodes)):
                dead.append(system.active("orders"))
                report(f"{setting.name}: node {dead[-1] + 1} of {setting.nodes} is killed")
                began = time.monotonic()
                system.kill(dead[-1])
                served = _await_more(driver, 20, PATIENCE)
                away.append(round(served - began, 2) if served else None)
                if served is None:
                    break
            confirmed = int(driver.do("steadied")[0])
            system.restart_all(dead)
            lost, _ = _check(driver, "orders")
    finally:
        system.stop()
    return {"words": setting.words, "away": away, "confirmed": confirmed, "lost": lost}


def _await_more(driver: Driver, messages: int, patience: float) -> float | None:
    """When the first of so many more messages was confirmed; None: they were not."""
    began, deadline = int(driver.do("sofar")[0]), time.monotonic() + patience
    first = None
    while (now := int(driver.do("sofar")[0])) < began + messages:
        if now > began + 1 and first is None:  # one may have been confirmed before the kill
            first = time.monotonic()
        if time.monotonic() > deadline:
            return None
        time.sleep(0.02)
    return first or time.monotonic()


def _check(driver: Driver, topic: str) -> tuple[int, int]:
    """Lost, twice. After a start it may take a moment until a topic is served."""
    deadline = time.monotonic() + ELECTION
    while True:
        try:
            lost, twice = map(int, driver.do("check", topic))
        except LoadFailed:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
        else:
            return lost, twice
