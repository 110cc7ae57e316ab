"""The text of a simulated message about a transaction, for a trace.

    InitProducerId till           ──>    producer 1000 epoch 0
    AddPartitionsToTxn till epoch 0 copies-0, copies-1
    WriteTxnMarkers commit producer 1000 epoch 0 copies-0, copies-1

An error is the text of its response.
"""

from collections.abc import Iterator
from typing import Any

from engine.broker.handlers.results import codes_in
from engine.errors import ErrorCode
from engine.wire.by_topic import partitions_in

REQUESTS = frozenset(
    {"InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"}
)
NAMED = 4  # partitions


def transaction_text(name: str, what: Any) -> str | None:
    """`name`: of the message's class, without Request. None: it is not about transactions."""
    if name in REQUESTS:
        return f"{name} {_asked(name, what)}"
    match name:
        case "WriteTxnMarkers":
            return "; ".join(f"{name} {_marker(each)}" for each in what.markers)
        case "Produce" if what.transactional_id is not None:
            return f"{name} {_listed(_places(what.topic_data))} of {what.transactional_id}"
        case "InitProducerIdResponse" if what.error_code == ErrorCode.none:
            return f"producer {what.producer_id} epoch {what.producer_epoch}"
    if name.removesuffix("Response") not in REQUESTS | {"WriteTxnMarkers", "OffsetDelete"}:
        return None
    # The coordinator answers commits with the fields that OffsetDelete's response has.
    done = "offsets written" if name == "OffsetDeleteResponse" else None
    return ", ".join(sorted(code.name for code in codes_in(what))) or done


def _asked(name: str, what: Any) -> str:
    """Who asks, in which epoch, and for what."""
    epoch = what.producer_epoch
    words = [str(what.transactional_id), *([] if epoch < 0 else [f"epoch {epoch}"])]
    match name:
        case "AddPartitionsToTxn":
            words.append(_listed(map(str, partitions_in(what.topics))))
        case "AddOffsetsToTxn":
            words.append(f"offsets of {what.group_id}")
        case "TxnOffsetCommit":
            rows = ((topic.name, each) for topic in what.topics for each in topic.partitions)
            words.append(
                _listed(f"{it}-{n.partition_index} to {n.committed_offset}" for it, n in rows)
            )
        case "EndTxn":
            words.append("commit" if what.committed else "abort")
    return " ".join(words)


def _marker(marker: Any) -> str:
    result = "commit" if marker.transaction_result else "abort"
    places = (f"{topic.name}-{n}" for topic in marker.topics for n in topic.partition_indexes)
    whose = f"producer {marker.producer_id} epoch {marker.producer_epoch}"
    return f"{result} {whose} {_listed(places)}"


def _places(topics: Any) -> Iterator[str]:
    return (f"{topic.name}-{each.index}" for topic in topics for each in topic.partition_data)


def _listed(places: Iterator[str]) -> str:
    found = list(places)
    rest = len(found) - NAMED
    return ", ".join(found[:NAMED]) + (f" and {rest} more" if rest > 0 else "")
