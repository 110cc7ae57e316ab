"""The exactly-once sink on topics in memory: killed at every step, and joined by its successor.

What a driver does is a sequence of requests. Here it dies before and after each of them, or is
only thought dead: another one finishes its epoch in between, and then it goes on.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import count

import pytest

from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.storage import records
from engine.storage.batch import Codec, Header, check
from engine.storage.records import Record
from sparkstreams.ledger import SEQUENCES, Staged
from sparkstreams.publisher import Publisher, stamped
from sparkstreams.rows import SinkRow
from sparkstreams.sink_options import WriteOptions
from sparkstreams.staging import StagingWriter
from tests.unit.sparkstreams.topics import Killed, Topics

QUERY = "5f2d"
ORDERS = [TopicPartition("orders", n) for n in range(3)]
LEDGER = TopicPartition("spark-epochs", 0)
STAGING = TopicPartition("orders-staging", 0)
ROWS = 20  # of each task, in an epoch
EPOCHS = 3


def options(**more: str) -> WriteOptions:
    return WriteOptions.of(
        {
            "kafka.bootstrap.servers": "127.0.0.1:9092",
            "kafka.batch.size": "200",  # so that an epoch has many
            "topic": "orders",
            "exactlyOnce": "true",
        }
        | more
    )


def staged(topics: Topics, epoch: int) -> list[tuple[TopicPartition, Staged]]:
    """What the two tasks of an epoch report, once they have staged their rows."""
    topics.sizes.setdefault("orders", 3)
    found = []
    for task in range(2):
        stage = StagingWriter(topics, options(), task)
        for n in range(ROWS):
            text = f"{epoch} {task} {n}".encode()
            stage.add(SinkRow("orders", None, text, text, (("n", b"%d" % n),)), 1000)
        stage.flush()
        found += stage.staged
    return found


def expected(epochs: int = EPOCHS) -> Counter[bytes]:
    tasks = ((e, t) for e in range(epochs) for t in range(2))
    return Counter(f"{e} {t} {n}".encode() for e, t in tasks for n in range(ROWS))


def stored(topics: Topics) -> Counter[bytes | None]:
    return Counter(record.value for record in topics.read("orders"))


def epoch(topics: Topics, number: int) -> None:
    Publisher(topics, options(), QUERY).commit(number, staged(topics, number))


def run(topics: Topics, numbers: Iterable[int]) -> None:
    for number in numbers:
        epoch(topics, number)


def test_what_is_published_is_what_was_staged_in_the_order_of_each_task() -> None:
    topics = Topics()
    for number in range(EPOCHS):
        epoch(topics, number)
    assert stored(topics) == expected()
    for partition in ORDERS:
        found = [it for batch in topics.logs[partition] for it in records.decode(batch)]
        assert [it.offset for it in found] == list(range(len(found)))
        assert all(it.key == it.value and it.headers[0][0] == "n" for it in found)
        for task in (b"0", b"1"):
            words = [it.value.split() for it in found if it.value]
            those = [(int(e), int(n)) for e, t, n in words if t == task]
            assert those == sorted(those)


class At:
    """Something happens at one of the requests; `seen` says how many there were."""

    def __init__(self, topics: Topics, step: int, act: Callable[[], None]) -> None:
        self.seen = 0
        self._topics, self._step, self._act = topics, step, act
        topics.happen = self

    def __call__(self, what: str) -> None:
        self.seen += 1
        if self.seen == self._step:
            self._topics.happen = lambda what: None
            self._act()


def die() -> None:
    raise Killed


def test_killed_before_and_after_every_request_and_then_run_again() -> None:
    """Each time with newly staged rows, as Spark does it."""
    for step in count(1):
        topics = Topics()
        epoch(topics, 0)
        at = At(topics, step, die)
        with suppress(Killed):
            epoch(topics, 1)
        if at.seen < step:
            assert step > 40, "an epoch has so many requests"
            return
        epoch(topics, 1)
        epoch(topics, 2)
        assert stored(topics) == expected(), f"killed at request {step}"


@pytest.mark.parametrize("others", [1, 3])
def test_one_that_is_thought_dead_goes_on_when_others_have_done_its_work(others: int) -> None:
    """At every step of it the successor commits the epoch, and perhaps the next ones, too."""
    for step in count(1):
        topics = Topics()
        epoch(topics, 0)
        at = At(topics, step, partial(run, topics, range(1, 1 + others)))
        epoch(topics, 1)
        if at.seen < step:
            assert step > 40, "an epoch has so many requests"
            return
        epoch(topics, 1 + others)
        assert stored(topics) == expected(2 + others), f"the others came at request {step}"


def test_two_take_turns_at_every_request_and_store_everything_once() -> None:
    """At each request of the first, a second one begins anew and gets one request further."""
    topics, turns = Topics(), count(1)
    epoch(topics, 0)

    def turn(what: str) -> None:
        left = next(turns)

        def limited(what: str) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise Killed

        topics.happen = limited
        with suppress(Killed):
            epoch(topics, 1)
        topics.happen = turn

    topics.happen = turn
    epoch(topics, 1)
    topics.happen = lambda what: None
    assert next(turns) > 40, "they took many turns"
    epoch(topics, 2)
    assert stored(topics) == expected()


def decide_and_die(topics: Topics, rows: list[tuple[TopicPartition, Staged]]) -> None:
    """In epoch 0, in front of the first batch for the target."""

    def in_front(what: str) -> None:
        if what.startswith("append orders-"):
            raise Killed

    topics.happen = in_front
    with pytest.raises(Killed):
        Publisher(topics, options(), QUERY).commit(0, rows)
    topics.happen = lambda what: None
    assert not stored(topics)


def test_a_decided_epoch_ignores_what_is_staged_anew() -> None:
    topics = Topics()
    topics.sizes["orders"] = 3

    first = staged(topics, 0)
    decide_and_die(topics, first)
    Publisher(topics, options(), QUERY).commit(0, staged(topics, 7))
    assert stored(topics) == expected(1)


def test_a_decided_epoch_is_published_even_if_its_rows_are_not_there_any_more() -> None:
    """Its input was lost meanwhile, say: what is decided is decided."""
    topics = Topics()
    first = staged(topics, 0)

    decide_and_die(topics, first)
    Publisher(topics, options(), QUERY).commit(0, [])
    assert stored(topics) == expected(1)


def test_an_empty_epoch_writes_nothing() -> None:
    topics = Topics()
    Publisher(topics, options(), QUERY).commit(0, [])
    assert not topics.logs
    Publisher(topics, options(), QUERY).commit(1, staged(topics, 0))
    assert stored(topics) == expected(1)


def test_brokers_that_have_forgotten_the_producer_get_nothing_twice() -> None:
    """Then only the target tells how far it was; a number may be any."""
    for step in count(1):
        topics = Topics()
        epoch(topics, 0)
        at = At(topics, step, die)
        with suppress(Killed):
            epoch(topics, 1)
        if at.seen < step:
            return
        topics.producers.clear()
        epoch(topics, 1)
        topics.producers.clear()
        epoch(topics, 2)
        assert stored(topics) == expected(), f"forgotten at request {step}"


def test_two_queries_into_one_topic_don_t_mind_each_other() -> None:
    topics = Topics()
    for query in ("5f2d", "77aa"):
        Publisher(topics, options(), query).commit(0, staged(topics, 0))
    assert stored(topics) == Counter(dict.fromkeys(expected(1), 2))


def test_a_topic_that_has_grown_gets_rows_in_its_new_partitions_too() -> None:
    topics = Topics()
    epoch(topics, 0)
    topics.sizes["orders"] = 5
    epoch(topics, 1)
    assert stored(topics) == expected(2)
    assert topics.end(TopicPartition("orders", 4)) > 0


def test_the_sequence_numbers_of_a_long_life_begin_again_at_0() -> None:
    topics = Topics()
    epoch(topics, 0)
    entry = records.decode(topics.logs[LEDGER][-1])[-1]
    assert entry.value is not None
    old = entry.value
    for partition in ORDERS:
        count_so_far = topics.end(partition)
        old = old.replace(
            b'["orders",%d,%d]' % (partition.partition, count_so_far),
            b'["orders",%d,%d]' % (partition.partition, SEQUENCES - 7),
        )
    assert old != entry.value
    batch = records.encode([Record(0, 1000, entry.key, old)])
    topics.logs[LEDGER] = []
    topics.append({LEDGER: batch})
    topics.producers.clear()
    epoch(topics, 1)
    epoch(topics, 2)
    assert stored(topics) == expected()


def test_staged_rows_that_retention_took_are_an_error_that_says_so() -> None:
    topics = Topics()

    first = staged(topics, 0)
    decide_and_die(topics, first)
    topics.starts[STAGING] = 10
    with pytest.raises(ApiException, match="orders-staging-0 has nothing from offset 0 to 10"):
        epoch(topics, 0)


def test_a_log_that_has_lost_what_it_had_is_an_error() -> None:
    topics = Topics()
    epoch(topics, 0)
    epoch(topics, 1)
    for partition in ORDERS:
        topics.logs[partition] = topics.logs[partition][:1]
        header = Header.parse(topics.logs[partition][0])
        topics.producers[partition] = type(topics.producers[partition])()
        topics.producers[partition].apply(header)
    with pytest.raises(ApiException, match=r"is decided, and orders-\d refuses its rows") as caught:
        epoch(topics, 2)
    assert caught.value.code == ErrorCode.out_of_order_sequence_number


def test_a_staged_batch_that_is_damaged_is_not_made_good() -> None:
    topics = Topics()
    first = staged(topics, 0)
    log = topics.logs[STAGING]
    log[0] = log[0][:-1] + bytes([log[0][-1] ^ 1])
    with pytest.raises(
        ApiException, match="orders-staging-0: the batch at offset 0 does not match"
    ):
        Publisher(topics, options(), QUERY).commit(0, first)
    assert not stored(topics)


@pytest.mark.parametrize("codec", list(Codec))
def test_a_stamped_batch_has_the_same_records_and_is_sound(codec: Codec) -> None:
    found = [
        Record(0, 5000, b"k", b"v", (("a", None),)),
        Record(1, 4000, None, b"x" * 500),
        Record(2, 9000, b"", None),
    ]
    place = [it._replace(offset=it.offset + 70) for it in found]
    batch = records.encode(place, base_offset=70, leader_epoch=4, codec=codec)
    copy = stamped(batch, 7, SEQUENCES - 1)
    header = check(copy)
    assert records.decode(copy) == found
    assert (header.producer_id, header.producer_epoch) == (7, 0)
    assert (header.base_sequence, header.last_sequence) == (SEQUENCES - 1, 1)
    assert header.codec is codec and header.max_timestamp == 9000
