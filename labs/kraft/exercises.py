"""The exercises of 10_kraft, and how each is judged.

up_to_date   a function, compared with what the engine's controllers vote
committed    a function, compared with the leader's high watermark
resigned     with the mouse: a leader that gives up by itself
"""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from engine.raft.leader import majority_end
from engine.raft.model import OffsetAndEpoch
from proof.quorum.film import QuorumEvent
from proof.quorum.simulated_quorum import SimulatedQuorum
from widgets import Check, Trial
from widgets.exercise import Code

LOG_ENDS = [OffsetAndEpoch(*it) for it in ((0, 0), (3, 1), (5, 1), (4, 2), (6, 2), (5, 3))]
VOTERS = 3, 5
EPOCH_START = 6


def up_to_date() -> Trial:
    return Trial(
        "up_to_date(candidate, own): may the candidate have the vote? Both are (offset, epoch)",
        _votes,
        hint="A longer log is not always a better one. Which of the two numbers counts first?",
    )


def _votes(code: Code) -> str:
    for candidate, own in product(LOG_ENDS, LOG_ENDS):
        try:
            found = bool(code(tuple(candidate), tuple(own)))
        except Exception as error:  # the learner's, and told
            return f"it raises {type(error).__name__}: {error}"
        wanted = candidate.is_at_least(own)
        if found != wanted:
            told = "gets" if wanted else "does not get"
            return (
                f"a candidate whose log ends at offset {candidate.offset} with epoch "
                f"{candidate.epoch} {told} the vote of one at offset {own.offset} with epoch "
                f"{own.epoch}"
            )
    return ""


def committed() -> Trial:
    return Trial(
        "committed(ends, epoch_start): the high watermark; 0 if it is not known yet",
        _marks,
        hint="Sort the log ends. Which of them has a majority reached? And what about records of "
        "an earlier epoch, on which no record of this one follows?",
    )


def _marks(code: Code) -> str:
    for voters in VOTERS:
        for ends in product((4, 6, 7, 9), repeat=voters):
            if ends[0] <= EPOCH_START:
                continue  # a leader has written at least one record
            try:
                found = code(list(ends), EPOCH_START)
            except Exception as error:  # the learner's, and told
                return f"it raises {type(error).__name__}: {error}"
            wanted = _engines_mark(ends)
            if found != wanted:
                return (
                    f"for log ends {', '.join(map(str, ends))} and an epoch that began at "
                    f"{EPOCH_START} it gives {found}, and the engine's leader says {wanted}"
                )
    return ""


def _engines_mark(ends: Sequence[int]) -> int:
    mark = majority_end(ends)
    return mark if mark > EPOCH_START else 0


class WatchedQuorum(NamedTuple):
    """What a Check asks: the events of a simulated quorum."""

    quorum: SimulatedQuorum

    def state(self) -> None:
        """All that is judged is in the events."""

    def events(self) -> Sequence[QuorumEvent]:
        return self.quorum.film.events


def resigned(quorum: SimulatedQuorum) -> Check:
    def has_resigned(state: object, events: Sequence[QuorumEvent]) -> str:
        kinds = [event.kind for event in events]
        if "resigned" not in kinds:
            return "no leader has resigned"
        if any(kind in ("kill", "resign") for kind in kinds):
            return "a controller was killed, or was asked to stop: begin again with the first cell"
        return ""

    return Check(
        "A leader resigns by itself: nobody was killed, and nobody was asked to stop",
        WatchedQuorum(quorum),
        has_resigned,
        hint="A leader that nobody fetches from can commit nothing.",
    )
