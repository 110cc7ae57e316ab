"""Answers to the exercises of 10_kraft. Try first; there is more than one way."""

from collections.abc import Sequence

from proof.quorum.simulated_quorum import SimulatedQuorum

LogEnd = tuple[int, int]  # offset, epoch


def up_to_date(candidate: LogEnd, own: LogEnd) -> bool:
    """The epoch counts first: a longer log of an older epoch may lack what is committed."""
    (offset, epoch), (own_offset, own_epoch) = candidate, own
    return (epoch, offset) >= (own_epoch, own_offset)


def committed(ends: Sequence[int], epoch_start: int) -> int:
    on_a_majority = sorted(ends, reverse=True)[len(ends) // 2]
    return on_a_majority if on_a_majority > epoch_start else 0


def resigned(quorum: SimulatedQuorum) -> None:
    """Cut the leader off: nobody fetches from it any more."""
    assert quorum.leader is not None
    quorum.isolate(quorum.leader)
    quorum.run(1)
