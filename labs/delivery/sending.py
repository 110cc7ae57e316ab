"""The ledger and the predictions of 06_sending. Read it after you have made yours.

Each question has a function beside it that says, from what the engine did, which answer came true.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from delivery.shared import TracedPartition
from widgets import Ledger, Predict

ledger = Ledger("06_sending")

PUSHED, NAMES_ONLY, NOTHING = "All 100", "A notice that there are some", "Nothing"


def unasked() -> Predict:
    return Predict(
        "A consumer is a member of its group and has its partition. It asks for nothing, and 100 "
        "records are written. What does its broker send it?",
        {
            PUSHED: "No request, no response: a broker never speaks first.",
            NAMES_ONLY: "There is no such message. A consumer learns of records by fetching.",
            NOTHING: "A broker only answers. The consumer decides when, and from which offset.",
        },
        hint="In this protocol, what does each message from a broker begin with?",
    )


def pushed(served: Sequence[TracedPartition]) -> str | None:
    """What a consumer got that asks for nothing; None: records, as it did ask for them."""
    return None if any(it.client == "reader" and it.bytes for it in served) else NOTHING


AT_PRODUCER, AT_BROKER, AT_CONSUMER = "The producer", "The broker", "The consumer"


def complains() -> Predict:
    return Predict(
        "A text is written, and read as a whole number. Who reports an error?",
        {
            AT_PRODUCER: "It has a serializer, and knows nothing of who will read.",
            AT_BROKER: "A broker stores bytes. It knows no types, and checks none.",
            AT_CONSUMER: "There the bytes become a value again, or do not.",
        },
        hint="Who knows that it should be a number?",
    )


def complained(refused: Sequence[object], value: object) -> str | None:
    """Who reported an error; None: nobody, as four bytes are a whole number, too."""
    return AT_BROKER if refused else AT_CONSUMER if isinstance(value, str) else None


ALL_SAME, ONE_DIFFERS, ALL_DIFFER = (
    "All four put a key in the same partition",
    "One of them does otherwise",
    "Each has a hash of its own",
)


def same_hash() -> Predict:
    return Predict(
        "Four clients, made by four groups of people, send the same keys. Where do these go?",
        {
            ALL_SAME: "It would be nice; a default is not a rule, and brokers don't check it.",
            ONE_DIFFERS: "librdkafka hashes with CRC32 by default, the others with murmur2.",
            ALL_DIFFER: "Most have taken over the Java client's hash.",
        },
        hint="Who chooses the partition, and who could force others to choose the same?",
    )


def hashed(placed: Mapping[str, Sequence[int]]) -> str:
    found = {name: tuple(each) for name, each in placed.items() if name != "the formula"}
    kinds = len(set(found.values()))
    return ALL_SAME if kinds == 1 else ONE_DIFFERS if kinds == 2 else ALL_DIFFER


IN_ORDER, TWICE_IN_ORDER, MIXED = (
    "0 1 2 3 4 5, in order",
    "0 0 1 2 3 4 5: one twice, but in order",
    "Out of order",
)


def reordered() -> Predict:
    return Predict(
        "One partition, five requests in flight. The first is stored, its answer is lost, and all "
        "five are sent again. What is in the log?",
        {
            IN_ORDER: "The broker cannot know that it has the first one: batches have no number.",
            TWICE_IN_ORDER: "So it is with one request at a time. With five, the order in which "
            "they failed decides.",
            MIXED: "Each failed batch goes back to the front of the queue, so the last is first.",
        },
        hint="Five batches are put back, each before all others.",
    )


def order_of(inversions: int, numbers: Sequence[int]) -> str:
    if inversions:
        return MIXED
    return TWICE_IN_ORDER if len(numbers) > len(set(numbers)) else IN_ORDER


AT_ONCE, THEN_WAITS, DROPS, ENDLESS = (
    "The first send fails",
    "A thousand records fit, then send waits, and fails",
    "The oldest records make room for new ones",
    "It takes all of them",
)


def full() -> Predict:
    return Predict(
        "A broker does not answer; the buffer has 1 MB, max.block.ms is one second. A program "
        "sends records of 1 KB. What happens?",
        {
            AT_ONCE: "send() asks no broker: it puts the record into the buffer.",
            THEN_WAITS: "The buffer is the limit, and the program is slowed down, then told.",
            DROPS: "No record is dropped in silence: each is delivered, or reported.",
            ENDLESS: "Then a program that is faster than its broker would run out of memory.",
        },
        hint="What is the buffer for, and what is max.block.ms for?",
    )


def filled(found: Any) -> str:
    size, waited = found
    return ENDLESS if not waited else AT_ONCE if size < 10_000 else THEN_WAITS
