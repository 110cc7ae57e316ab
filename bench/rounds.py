"""Rounds: all loads, and for each of them all peers in turn, again and again.

A machine is faster in one minute than in the next. So a ratio is taken from two measurements
side by side, in one round, and of these ratios the median.

A virtual machine, moreover, may have to ask its host for each page of memory that a file grows by,
and that costs more than writing it. So before each load some pages are used and given back.
"""

import statistics
from collections.abc import Callable, Sequence
from tempfile import TemporaryFile

from bench.peers.peer import VALUE, Peer, Size

MB = 1024 * 1024

Seconds = dict[str, dict[str, list[float]]]  # by load, by peer: one number for each round
Ratios = dict[str, dict[str, float]]  # by load, by peer


def measure(
    peers: Sequence[Peer],
    size: Size,
    rounds: int,
    report: Callable[[str], None],
    warm_up: int = 1,
    only: str = "",
) -> Seconds:
    """More rounds than asked for: the first ones are to warm up, JVMs above all, and are left
    out. `only`: the loads with this in their names."""
    loads = {peer.name: peer.loads(size) for peer in peers}
    names = list(dict.fromkeys(name for it in loads.values() for name in it if only in name))
    seconds: Seconds = {
        name: {peer.name: [] for peer in peers if name in loads[peer.name]} for name in names
    }
    for number in range(1 - warm_up, rounds + 1):
        for name, by_peer in seconds.items():
            report(f"round {number} of {rounds}: {name}")
            for peer, spent in by_peer.items():
                recycle(2 * size.records * len(VALUE))
                spent.append(loads[peer][name]())
    return {
        name: {peer: spent[warm_up:] for peer, spent in by_peer.items()}
        for name, by_peer in seconds.items()
    }


def recycle(size: int) -> None:
    """See that the system has so many bytes of memory at hand."""
    with TemporaryFile(buffering=0) as file:
        for _ in range(0, size, MB):
            file.write(bytes(MB))


def ratios(seconds: Seconds, ours: str) -> Ratios:
    """How many times as fast as each peer ours is; 2.0: it takes half the time.

    By name, which puts loads of a kind together.
    """
    return {
        name: {
            peer: statistics.median(
                one / other for one, other in zip(theirs, by_peer[ours], strict=True)
            )
            for peer, theirs in by_peer.items()
            if peer != ours
        }
        for name, by_peer in sorted(seconds.items())
    }
