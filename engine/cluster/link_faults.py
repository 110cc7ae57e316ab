"""The faults of links that are set: stored here, applied by the brokers.

    cut(1, 3)                 broker 1's link "3" and broker 3's link "1" let nothing out
    cut(1, 3, both=False)     broker 1's link "3" only: what 1 sends no longer reaches 3
    cut(1, "zookeeper")       broker 1's link "zookeeper": nothing out, nothing in

    cut(1, "zookeeper-2")     broker 1's link to that server of an ensemble
    cut("zookeeper-1", "zookeeper-2")     as between brokers; applied in quorum_links.py

    cut(1, "controller-2")    broker 1's link "102" and controller 102's link "1"

A broker gets its faults in its environment when it starts (engine.links).
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from engine.cluster.state import LinkState
from engine.errors import ApiException, invalid_request
from engine.links import VARIABLE, ZOOKEEPER, Link

# A broker's number; "zookeeper" for every server of it, or one: "zookeeper-2"; "controller-1".
End = int | str
FIRST_CONTROLLER = 101  # the node id of controller-1


def is_zookeeper(end: End) -> bool:
    return isinstance(end, str) and end.startswith(ZOOKEEPER)


class LinkFaults:
    def __init__(self) -> None:
        self._links: defaultdict[End, dict[str, Link]] = defaultdict(dict)

    def cut(self, source: End, target: End) -> End:
        """Messages from source to target are held back. Returns who applies it."""
        owner, link = self._owned_by(source, target)
        if owner == source:
            link.out_cut = True
        else:
            link.in_cut = True
        return owner

    def slow(self, one: End, other: End, ms: int) -> set[End]:
        """In both directions; a link to ZooKeeper is one. Returns who applies it."""
        kept = [self._owned_by(one, other), self._owned_by(other, one)]
        for _, link in kept:
            link.delay = ms / 1000
        return {owner for owner, _ in kept}

    def heal(self) -> list[End]:
        """Forget all faults; returns the ends that have to be notified."""
        owners = [*self._links]
        self._links.clear()
        return owners

    def heal_link(self, one: End, other: End) -> set[End]:
        """Forget the faults of one link, in both directions; returns the ends to be notified."""
        owners = set()
        for source, target in ((one, other), (other, one)):
            owner, name = _owner(source, target)
            self._links[owner][name] = Link()  # a broker learns of it as of any change
            owners.add(owner)
        return owners

    def of(self, owner: End) -> dict[str, dict[str, Any]]:
        """The faults of a node's links, as the debug server takes them; or of a server's."""
        return {link_name(name): asdict(link) for name, link in self._links.get(owner, {}).items()}

    def environment(self, owner: End) -> dict[str, str]:
        return {VARIABLE: json.dumps(self.of(owner))}

    def states(self) -> Iterator[LinkState]:
        for owner, links in sorted(self._links.items(), key=lambda each: str(each[0])):
            for name, link in links.items():
                delay = round(link.delay * 1000)
                if link.out_cut or delay:
                    yield LinkState(str(owner), name, link.out_cut, delay)
                if link.in_cut:
                    yield LinkState(name, str(owner), True)

    def _owned_by(self, source: End, target: End) -> tuple[End, Link]:
        owner, name = _owner(source, target)
        return owner, self._links[owner].setdefault(name, Link())


def controller(number: int) -> str:
    """The name of a controller, and of its directory; the first is 1."""
    return f"controller-{number}"


def link_name(end: str) -> str:
    """Nodes name their links by node ids: "controller-1" is "101"."""
    kind, _, number = end.partition("-")
    return str(FIRST_CONTROLLER - 1 + int(number)) if kind == "controller" else end


def no_link(one: End, other: End, names: Iterable[str]) -> ApiException:
    """`names`: of the ends that are no brokers."""
    ends = " or ".join(f'"{name}"' for name in names)
    return invalid_request(
        f"there is no link between {one} and {other}: it has a broker of this cluster at one end, "
        f"and another one or {ends} at the other"
    )


def _owner(source: End, target: End) -> tuple[End, str]:
    """Who holds back what source sends to target, and the name of that link: the source, but a
    broker for what comes from ZooKeeper."""
    if is_zookeeper(source) and not is_zookeeper(target):
        return target, str(source)
    return source, str(target)
