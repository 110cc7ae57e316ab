"""Rounds: all loads, and for each of them all peers in turn, again and again.

A machine is faster in one minute than in the next. So a ratio is taken from two measurements
side by side, in one round, and of these ratios the median.
"""

import statistics
from collections.abc import Callable, Sequence

from bench.peers.peer import Peer, Size

Seconds = dict[str, dict[str, list[float]]]  # by load, by peer: one number for each round
Ratios = dict[str, dict[str, float]]  # by load, by peer


def measure(
    peers: Sequence[Peer], size: Size, rounds: int, report: Callable[[str], None]
) -> Seconds:
    """A round more than asked for: the first is to warm up, JVMs above all, and is left out."""
    loads = {peer.name: peer.loads(size) for peer in peers}
    names = list(dict.fromkeys(name for peer in peers for name in loads[peer.name]))
    seconds: Seconds = {
        name: {peer.name: [] for peer in peers if name in loads[peer.name]} for name in names
    }
    for number in range(rounds + 1):
        for name, by_peer in seconds.items():
            report(f"round {number} of {rounds}: {name}")
            for peer, spent in by_peer.items():
                spent.append(loads[peer][name]())
    return {
        name: {peer: spent[1:] for peer, spent in by_peer.items()}
        for name, by_peer in seconds.items()
    }


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
