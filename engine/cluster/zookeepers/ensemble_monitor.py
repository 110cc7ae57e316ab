"""Asks each ZooKeeper server of an ensemble what it is, by four-letter words, again and again.

    srvr    Mode: leader, Zxid: 0x200000017       or: not currently serving requests
    cons    /127.0.0.1:43210[1](...,sid=0x100004a1b2c0000,...)     the sessions that use this server

A zxid numbers a transaction: its upper half is the epoch of the leader that proposed it, so a new
leader shows as a higher epoch. A server that does not answer in time (paused, dead, very busy) has
no report; `cluster.state()` never waits for one.
"""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from engine.cluster.ports import HOST
from engine.cluster.state import now
from engine.cluster.zookeeper import NOT_SERVING

ASK_INTERVAL_S = 0.2  # between two questions to a server
ANSWER_WAIT_S, MISSES = 0.5, 2  # for an answer; so many times late, and it does not answer
LEADER, FOLLOWER, LOOKING = "leader", "follower", "looking"
SESSION = re.compile(r"\bsid=(0x[0-9a-f]+)")


class ServerReport(NamedTuple):
    """What a server says about itself."""

    role: str  # leader, follower; looking: it has no quorum and serves nobody
    zxid: int = 0  # the last transaction that it knows
    sessions: tuple[int, ...] = ()  # of the clients that are connected to it

    @property
    def epoch(self) -> int:
        return self.zxid >> 32


class EnsembleMonitor:
    """The latest report of each server. `reports` and `news` may be read from any thread."""

    def __init__(self) -> None:
        self.reports: dict[int, ServerReport] = {}  # of those that answer
        self.news: list[tuple[str, int, dict[str, Any]]] = []  # events: kind, when, facts
        self._leader: tuple[int, int] | None = None  # epoch, server

    async def follow(self, number: int, port: int) -> None:
        """Ask one server, until cancelled."""
        missed = 0
        while True:
            try:
                async with asyncio.timeout(ANSWER_WAIT_S):
                    words = [await ask(port, word) for word in ("srvr", "cons")]
                self.take(number, parse(*words))
                missed = 0
            except TimeoutError:
                missed += 1
                if missed == MISSES:
                    self.take(number, None)
            except OSError:
                self.take(number, None)
            await asyncio.sleep(ASK_INTERVAL_S)

    def take(self, number: int, report: ServerReport | None) -> None:
        if report is None:
            self.reports.pop(number, None)
        else:
            self.reports[number] = report
        leader = leading(self.reports)
        if leader is None:
            if self._leader is not None:
                self._report("zookeeper.leaderless", looking=sorted(self.reports))
        elif self._leader is None or leader > self._leader:
            self._report("zookeeper.leader", server=leader[1], epoch=leader[0])
        self._leader = leader

    def _report(self, kind: str, **facts: Any) -> None:
        self.news.append((kind, now(), facts))


def leading(reports: Mapping[int, ServerReport]) -> tuple[int, int] | None:
    """(epoch, server): of two that believe to lead, the newer; an old one may not know yet."""
    found = [(each.epoch, number) for number, each in reports.items() if each.role == LEADER]
    return max(found, default=None)


async def ask(port: int, word: str) -> str:
    """A four-letter word, without blocking the thread."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(word.encode())
        return (await reader.read()).decode(errors="replace")
    finally:
        with suppress(OSError):
            writer.close()


def parse(srvr: str, cons: str) -> ServerReport:
    """The answers to `srvr` and `cons`."""
    facts = dict(line.partition(": ")[::2] for line in srvr.splitlines())
    if NOT_SERVING in srvr or "Mode" not in facts:
        return ServerReport(LOOKING)
    sessions = {int(each, 16) for each in SESSION.findall(cons)} - {0}
    return ServerReport(facts["Mode"], int(facts["Zxid"], 16), tuple(sorted(sessions)))
