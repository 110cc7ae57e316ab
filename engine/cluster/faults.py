"""The network faults that a lab has set: stored here, applied by the brokers.

    cut(1, 3)                 broker 1's link "3" and broker 3's link "1" let nothing out
    cut(1, 3, both=False)     broker 1's link "3" only: what 1 sends no longer reaches 3
    cut(1, "zookeeper")       broker 1's link "zookeeper": nothing out, nothing in

A broker gets its faults in its environment when it starts (engine.links).
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from engine.cluster.state import LinkState
from engine.links import VARIABLE, ZOOKEEPER, Link

End = int | str  # a broker's number, or "zookeeper"


class Faults:
    def __init__(self) -> None:
        self._links: defaultdict[int, dict[str, Link]] = defaultdict(dict)

    def cut(self, source: End, target: End) -> int:
        """Messages from source to target are held back. Returns the broker that applies it."""
        broker, link = self._kept_for(source, target)
        if source == ZOOKEEPER:
            link.in_cut = True
        else:
            link.out_cut = True
        return broker

    def slow(self, one: End, other: End, ms: int) -> set[int]:
        """In both directions; a link to ZooKeeper is one. Returns the brokers that apply it."""
        kept = [self._kept_for(one, other), self._kept_for(other, one)]
        for _, link in kept:
            link.delay = ms / 1000
        return {broker for broker, _ in kept}

    def heal(self) -> list[int]:
        """Forget all faults; returns the brokers that have to be notified."""
        brokers = [*self._links]
        self._links.clear()
        return brokers

    def heal_link(self, one: End, other: End) -> set[int]:
        """The same for one link, in both directions."""
        brokers = set()
        for source, target in ((one, other), (other, one)):
            broker, name = (target, source) if source == ZOOKEEPER else (source, target)
            assert isinstance(broker, int)
            self._links[broker][str(name)] = Link()  # a broker learns of it as of any change
            brokers.add(broker)
        return brokers

    def of(self, broker: int) -> dict[str, dict[str, Any]]:
        """The faults of a broker's links, as the debug server takes them."""
        return {name: asdict(link) for name, link in self._links.get(broker, {}).items()}

    def environment(self, broker: int) -> dict[str, str]:
        return {VARIABLE: json.dumps(self.of(broker))}

    def states(self) -> Iterator[LinkState]:
        for broker, links in sorted(self._links.items()):
            for name, link in links.items():
                delay = round(link.delay * 1000)
                if link.out_cut or delay:
                    yield LinkState(str(broker), name, link.out_cut, delay)
                if link.in_cut:
                    yield LinkState(name, str(broker), True)

    def _kept_for(self, source: End, target: End) -> tuple[int, Link]:
        broker, other = (target, source) if source == ZOOKEEPER else (source, target)
        assert isinstance(broker, int)
        return broker, self._links[broker].setdefault(str(other), Link())
