"""Mutants of 06_sending: lines of cells that are changed.

The brokers are processes of their own, so what is changed is the experiment, as a learner would.
"""

import pytest

from engine.client.producer import Producer
from tests.labs.mutants import Mutant

SOCKET = "cluster socket-hand socket-predict"
PUSH = f"{SOCKET} socket-push socket-requests"
CLIENTS = f"{SOCKET} socket-bootstrap socket-programs socket-roles"
CLIENTS_VERDICTS = f"{CLIENTS} socket-clients-verdict"
BYTES = "bytes-predict bytes-send bytes-read bytes-record bytes-verdict"
PARTITION = "cluster partition-predict partition-clients"
NAMED = f"{PARTITION} partition-named partition-named-verdict"
OLD = (
    f"{PARTITION} partition-hash partition-without partition-old partition-without-verdict "
    "partition-key-verdict"
)
LETTERS = f"{PARTITION} partition-letters partition-letters-verdict"
RETRIES = "order-predict order-retries order-stored order-verdict"
KEYS = "order-predict order-keys order-keys-run order-keys-verdict"
FULL = "buffer-predict buffer-full buffer-batches buffer-batches-verdict buffer-piled-verdict"
LINGER = "buffer-predict buffer-full buffer-linger buffer-linger-verdict"
WAYS = "buffer-predict buffer-full buffer-get buffer-callbacks buffer-ways-verdict"
FLUSH = "buffer-predict buffer-full buffer-get buffer-flush buffer-ways-verdict-2"


def a_client_that_learns_of_one_broker(patch: pytest.MonkeyPatch) -> None:
    def list_topics(producer: Producer, *how: object, **more: object) -> object:
        found = known(producer, *how, **more)  # type: ignore[arg-type]
        found.brokers = dict([*found.brokers.items()][:1])
        return found

    known = Producer.list_topics
    patch.setattr(Producer, "list_topics", list_topics)


MUTANTS = [
    Mutant(
        "the consumer does not choose an offset",
        "C178 C180",
        f"{PUSH} socket-verdict",
        [("consumer.seek(wanted)", "pass")],
    ),
    Mutant(
        "a Fetch is held for 5 ms",
        "C224",
        f"{SOCKET} socket-poll socket-poll-verdict",
        [('"fetch.max.wait.ms": 500', '"fetch.max.wait.ms": 5')],
    ),
    Mutant(
        "a client that learns of one broker",
        "C181",
        CLIENTS_VERDICTS,
        defect=a_client_that_learns_of_one_broker,
    ),
    Mutant(
        "the readers stop early",
        "C179 C284",
        CLIENTS_VERDICTS,
        [("if count == 200", "if count == 150")],
    ),
    Mutant(
        "text that is not UTF-8",
        "C183",
        BYTES,
        [('StringSerializer("utf_8")}', 'StringSerializer("latin_1")}')],
    ),
    Mutant("one of three files is left out", "C296", BYTES, [("((1, 2, 3))", "((1, 2))")]),
    Mutant(
        "no partition is named",
        "C184",
        NAMED,
        [('("partition 0", 0, {})', '("partition 0", -1, {})')],
    ),
    Mutant(
        "guests get partition 0",
        "C189",
        NAMED,
        [('key.startswith(b"vip")', 'key[:1] == b"g"')],
    ),
    Mutant(
        "requests by hand to a partition that is led elsewhere",
        "C286",
        NAMED,
        [('"-", partition=1))', '"-", partition=0))')],
    ),
    Mutant(
        "the hash keeps its sign",
        "C185",
        OLD,
        [("(murmur2(key.encode()) & 0x7FFFFFFF) % 3", "murmur2(key.encode()) % 3")],
    ),
    Mutant(
        "round robin",
        "C186 C187 C188",
        OLD,
        [("sent(1000)", 'sent(1000, **{"partitioner.class": "roundrobin"})')],
    ),
    Mutant(
        "by the second letter",
        "C190",
        LETTERS,
        [('(key[0] - ord("A")) * partitions // 26', "key[1] % partitions")],
    ),
    Mutant(
        "a key each time",
        "C191",
        KEYS,
        [('None if name == "no key" else str(order)', "str(order)")],
    ),
    Mutant(
        "never more than one in flight",
        "C192 C193",
        RETRIES,
        [('"max.in.flight": 5},', '"max.in.flight": 1},')],
    ),
    Mutant("smaller records", "C201", FULL, [('"x" * 1000)', '"x" * 500)')]),
    Mutant(
        "small batches",
        "C202",
        FULL,
        [('{"linger.ms": 1000}', '{"linger.ms": 1000, "batch.size": 1000}')],
    ),
    Mutant("never one by one", "C203", FULL, [("one_by_one=True", "one_by_one=False")]),
    Mutant("no linger", "C204", LINGER, [("LINGER = 10", "LINGER = 0")]),
    Mutant(
        "the broker answers",
        "C205",
        WAYS,
        [("    cluster.pause(1)\n    future", "    future")],
    ),
    Mutant(
        "two callbacks for a record",
        "C206",
        WAYS,
        [("partial(note, n)", "partial(note, n // 2)")],
    ),
    Mutant("nothing fails", "C207", FLUSH, [('"x" * 5000', '"x" * 500')]),
]
