"""All challenges, by name, in the order in which they are best taken."""

from collections.abc import Mapping

from proof.challenges import delivery, replication
from proof.challenges.challenge import Challenge

CHALLENGES: Mapping[str, Challenge] = {
    it.name: it for it in (*replication.CHALLENGES, *delivery.CHALLENGES)
}
