"""All challenges, by name, in the order in which they are best taken."""

from collections.abc import Mapping

from proof.challenges import (
    assignment,
    delivery,
    index_lookup,
    isr_shrink,
    leader_election,
    log_compaction,
    log_recovery,
    offset_commit,
    replication,
)
from proof.challenges.challenge import Challenge

CHALLENGES: Mapping[str, Challenge] = {
    it.name: it
    for it in (
        index_lookup.CHALLENGE,
        log_recovery.CHALLENGE,
        log_compaction.CHALLENGE,
        replication.CHALLENGES[0],
        isr_shrink.CHALLENGE,
        replication.CHALLENGES[1],
        leader_election.CHALLENGE,
        *replication.CHALLENGES[2:],
        delivery.CHALLENGES[0],
        offset_commit.CHALLENGE,
        assignment.CHALLENGE,
        *delivery.CHALLENGES[1:],
    )
}
