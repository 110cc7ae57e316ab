"""Links between brokers that a lab cuts, slows and heals, without being root.

    broker 1 ──── out ────> broker 3        whatever 1 sends to 3 passes 1's link "3" first
    broker 1 <──── out ──── broker 3        and what 3 sends to 1 passes 3's link "1"
    broker 1 <── in, out ── ZooKeeper       both directions are kept here, ZooKeeper has no firewall

The link "zookeeper" is that to every ZooKeeper server; in an ensemble there is one to each server
too: "zookeeper-2" is the one to the second server of zookeeper.connect.

A cut link behaves like a pulled cable: no connection breaks, nothing is lost and nothing arrives.
When it is healed, the bytes arrive, if neither side has timed out. A link between two brokers is
cut in one direction at the sender, and in both directions at both brokers.

A broker can be started with faults: they are in its environment.

Invariant: without a fault nothing waits here, and nothing is copied.
"""

import asyncio
import json
import os
from dataclasses import dataclass
from typing import Self

ZOOKEEPER = "zookeeper"  # all servers; one of an ensemble is "zookeeper-2"
VARIABLE = "BROKERLAB_LINKS"  # {"3": {"out_cut": true}, "zookeeper": {"delay": 0.2}}


@dataclass(slots=True)
class Link:
    out_cut: bool = False
    in_cut: bool = False  # only from ZooKeeper: between brokers the sender cuts
    delay: float = 0.0  # seconds that each message waits before it is sent


class Links:
    """All links of one broker, by the name of the other end: "1", "2", "zookeeper"."""

    def __init__(self) -> None:
        self.zookeeper = Link()  # kazoo's thread looks at it before it reads or writes
        self._links: dict[str, Link] = {ZOOKEEPER: self.zookeeper}
        self._changed = asyncio.Event()

    @classmethod
    def from_environment(cls) -> Self:
        links = cls()
        for name, faults in json.loads(os.environ.get(VARIABLE, "{}")).items():
            links.change(name, **faults)
        return links

    def change(self, name: str, **faults: bool | float) -> None:
        """`faults`: fields of Link; the others stay as they are."""
        link = self._links.setdefault(name, Link())
        for fault, value in faults.items():
            setattr(link, fault, value)
        self._wake()

    def heal(self) -> None:
        """Remove all faults."""
        for link in self._links.values():
            link.out_cut = link.in_cut = False
            link.delay = 0.0
        self._wake()

    def faults(self) -> dict[str, Link]:
        """The links that have a fault."""
        return {name: link for name, link in self._links.items() if link != Link()}

    def to_server(self, number: int) -> Link:
        """The link to one ZooKeeper server of an ensemble, counted from 1."""
        return self._links.setdefault(f"{ZOOKEEPER}-{number}", Link())

    async def passes(self, name: str) -> None:
        """Wait until a message to that node may leave; at once, unless there is a fault."""
        link = self._links.get(name)
        if link is None:
            return
        if link.delay:
            await asyncio.sleep(link.delay)
        while link.out_cut:
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
