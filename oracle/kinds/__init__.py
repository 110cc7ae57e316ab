"""The kinds of questions, by what they are about: each is a class of a situation."""

from collections.abc import Mapping

from oracle.kinds import (
    controller,
    delivery,
    groups,
    quorum,
    replication,
    storage,
    transactions,
)
from oracle.situation import Situation

KINDS: Mapping[str, type[Situation]] = {
    name: kind
    for part in (storage, replication, controller, quorum, delivery, groups, transactions)
    for name, kind in part.KINDS.items()
}
