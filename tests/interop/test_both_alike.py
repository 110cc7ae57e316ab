"""Producer and Consumer: ours and confluent-kafka's do the same, and say the same: alike.py."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.client import values
from engine.cluster.cluster import Cluster
from tests.interop import alike
from tests.interop.alike import Both, attempt, both_on
from tests.interop.watch import until

CONFIG = alike.CONFIG
SOON = 20.0  # seconds; what takes longer will not come


@pytest.fixture
def both(cluster: Cluster) -> Both:
    return both_on(cluster)


@pytest.fixture
def created(cluster: Cluster) -> Callable[[str], str]:
    def create(name: str) -> str:
        cluster.admin.create_topic(name, partitions=2)
        return name

    return create


# -- Producer ----------------------------------------------------------------------------------


def told(message: Any) -> list[Any]:
    """What a delivery report has to say."""
    place = [message.topic(), message.partition(), message.offset()]
    return [*place, message.key(), message.value(), message.timestamp(), message.error()]


def test_records_are_delivered(both: Both, created: Callable[[str], str]) -> None:
    def script(kit: Any, name: str) -> Any:
        created(name)
        reports: list[Any] = []

        def report(error: Any, message: Any) -> None:
            reports.append([error, *told(message), message.latency() > 0])

        settings = {"acks": "all", "linger.ms": 5, "enable.idempotence": True}
        producer = kit.Producer(kit.basic | settings)
        for n in range(5):
            producer.produce(name, b"%d" % n, f"key {n}", 0, report, timestamp=1000 + n)
        waiting = len(producer)
        producer.produce(
            name,
            value="text",
            headers={"trace": b"1", "none": None},
            partition=1,
            timestamp=7,
            on_delivery=report,
        )
        producer.produce(name, None, b"gone", 1, callback=report, timestamp=8)
        left = producer.flush(SOON)
        producer.produce(name, b"quiet", partition=0, timestamp=9)
        reports.sort(key=lambda it: it[2:4])
        return [waiting, left, reports, producer.flush(SOON), len(producer), producer.poll(0)]

    waiting, left, reports, *rest = both(script)
    assert (waiting, left, rest) == (5, 0, [0, 0, 0])
    assert [each[3] for each in reports] == [0, 1, 2, 3, 4, 0, 1]


def test_keys_find_their_partitions(both: Both, created: Callable[[str], str]) -> None:
    """Java's way, by the name that librdkafka has for it."""

    def script(kit: Any, name: str) -> Any:
        created(name)
        found: dict[bytes, int] = {}
        producer = kit.Producer(kit.basic | {"partitioner": "murmur2_random"})
        for n in range(50):
            key = b"key %d" % n
            producer.produce(
                name, key, key, on_delivery=lambda _, it: found.update({it.key(): it.partition()})
            )
        producer.flush(SOON)
        return found

    assert set(both(script).values()) == {0, 1}


def test_what_a_producer_refuses(both: Both, created: Callable[[str], str]) -> None:
    def script(kit: Any, name: str) -> Any:
        created(name)
        errors: list[Any] = []
        producer = kit.Producer(kit.basic | {"message.timeout.ms": 2000, "linger.ms": 0})

        def report(error: Any, message: Any) -> None:
            errors.append([error.code(), message.topic(), message.value()])

        seen = [
            attempt(kit.Producer, kit.basic | {"acks": "some"}),
            attempt(kit.Producer, kit.basic | {"linger": 5}),
            attempt(producer.produce),
            attempt(producer.produce, name, value=5),
            attempt(producer.produce, name, key=object()),
            attempt(producer.produce, name, b"x", partition="0"),
            attempt(producer.produce, name, b"x" * 2_000_000),
            attempt(producer.produce, name, b"x", headers=5),
            attempt(producer.produce, name, b"x", nonsense=True),
            producer.flush(SOON),
        ]
        return [*seen, errors]

    *refused, left, errors = both(script)
    assert all(kind in ("KafkaException", "TypeError", "ValueError") for kind, _ in refused)
    assert refused[6] == ["KafkaException", values.KafkaError.MSG_SIZE_TOO_LARGE]
    assert (left, errors) == (0, [])


def test_a_report_that_raises(both: Both, created: Callable[[str], str]) -> None:
    """It is raised by whatever serves it, and the next one comes all the same."""

    def script(kit: Any, name: str) -> Any:
        created(name)
        count: list[int] = []

        def report(error: Any, message: Any) -> None:
            count.append(message.offset())
            if len(count) == 1:
                raise KeyError("mine")

        producer = kit.Producer(kit.basic)
        producer.produce(name, b"a", partition=0, on_delivery=report)
        first = attempt(producer.flush, SOON)
        producer.produce(name, b"b", partition=0, on_delivery=report)
        return [first, producer.flush(SOON), count]

    assert both(script) == [["KeyError", None], 0, [0, 1]]


# -- Consumer ----------------------------------------------------------------------------------


def filled(kit: Any, name: str) -> None:
    """Ten records in partition 0, none in partition 1."""
    producer = kit.Producer(kit.basic)
    for n in range(10):
        headers = [("n", b"%d" % n)] if n == 3 else None
        producer.produce(name, b"%d" % n, b"key", 0, timestamp=1000 + n, headers=headers)
    assert producer.flush(SOON) == 0


def reader(kit: Any, name: str, **more: Any) -> Any:
    settings = {key.replace("_", "."): value for key, value in more.items()}
    group = {"group.id": name, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    return kit.Consumer(kit.basic | group | settings)


def some(consumer: Any, count: int) -> list[Any]:
    """The next so many records, one after the other."""
    found: list[Any] = []

    def enough() -> bool:
        found.extend(consumer.consume(count - len(found), 0.1))
        return len(found) == count

    until(enough)
    return [told(each) for each in found]


def spots(places: Any) -> list[Any]:
    """Which partitions; where in them is another question."""
    return sorted([it.topic, it.partition] for it in places)


def offsets(places: Any) -> list[Any]:
    return [[it.topic, it.partition, it.offset, it.error] for it in places]


def test_a_consumer_by_assignment(both: Both, created: Callable[[str], str]) -> None:
    def script(kit: Any, name: str) -> Any:
        filled(kit, created(name))
        at, seen = kit.TopicPartition, []
        consumer = reader(kit, name)
        consumer.assign([at(name, 0, 2), at(name, 1, kit.OFFSET_BEGINNING)])
        seen += [spots(consumer.assignment()), some(consumer, 3)]
        seen += [consumer.position([at(name, 0)]), consumer.get_watermark_offsets(at(name, 0))]
        consumer.seek(at(name, 0, 8))
        seen += [some(consumer, 2), consumer.poll(0.1)]
        for time in (1004, 5000):
            times = [at(name, 0, time), at(name, 1, time)]
            seen += [[it.offset for it in consumer.offsets_for_times(times, timeout=SOON)]]
        consumer.pause([at(name, 0)])
        consumer.seek(at(name, 0, 0))
        seen += [consumer.poll(0.3)]
        consumer.resume([at(name, 0)])
        seen += [some(consumer, 1)]
        consumer.incremental_unassign([at(name, 1)])
        seen += [spots(consumer.assignment())]
        consumer.unassign()
        seen += [consumer.assignment(), consumer.consume(5, 0.1)]
        consumer.close()
        return [*seen, attempt(consumer.poll, 0)]

    *seen, after_close = both(script)
    assert [each[2] for each in seen[1]] == [2, 3, 4]
    assert after_close == ["RuntimeError", None]


def test_offsets_are_committed(both: Both, created: Callable[[str], str]) -> None:
    def script(kit: Any, name: str) -> Any:
        filled(kit, created(name))
        at, seen = kit.TopicPartition, []
        consumer = reader(kit, name, enable_auto_offset_store=False)
        consumer.assign([at(name, 0, 0)])
        message = consumer.poll(SOON)
        seen += [told(message), offsets(consumer.commit(message=message, asynchronous=False))]
        seen += [offsets(consumer.committed([at(name, 0), at(name, 1)], timeout=SOON))]
        seen += [offsets(consumer.commit(offsets=[at(name, 0, 5)], asynchronous=False))]
        consumer.store_offsets(offsets=[at(name, 0, 7)])
        seen += [offsets(consumer.commit(asynchronous=False))]
        seen += [attempt(consumer.commit, message=message, offsets=[at(name, 0)])]
        seen += [consumer.commit(offsets=[at(name, 0, 3)])]
        until(lambda: consumer.committed([at(name, 0)], timeout=SOON)[0].offset == 3)
        consumer.close()
        again = reader(kit, name)
        again.assign([at(name, 0)])
        seen += [told(again.poll(SOON))]
        again.close()
        return seen

    assert both(script)[-1][2] == 3


def test_a_group_of_one(both: Both, created: Callable[[str], str]) -> None:
    def script(kit: Any, name: str) -> Any:
        filled(kit, created(name))
        events: list[Any] = []

        def heard(what: str) -> Callable[..., None]:
            return lambda _, share: events.append([what, sorted([it.partition] for it in share)])

        consumer = reader(kit, name, client_id="reader", enable_auto_commit=True)
        consumer.subscribe([name], on_assign=heard("assigned"), on_revoke=heard("revoked"))
        seen = [some(consumer, 10), consumer.memberid().startswith("reader-")]
        consumer.close()
        late = reader(kit, name)
        late.subscribe([f"^{name}.*"], on_assign=heard("assigned"))
        until(lambda: late.poll(0.05) is None and len(events) == 3)
        seen += [late.committed([kit.TopicPartition(name, 0)], timeout=SOON)[0].offset]
        late.unsubscribe()
        late.close()
        return [*seen, events]

    records, is_named, committed, events = both(script)
    assert [each[2] for each in records] == list(range(10))
    assert (is_named, committed) == (True, 10)
    assert [what for what, _ in events] == ["assigned", "revoked", "assigned"]


def test_the_end_of_a_partition_is_told(both: Both, created: Callable[[str], str]) -> None:
    def script(kit: Any, name: str) -> Any:
        filled(kit, created(name))
        consumer = reader(kit, name, enable_partition_eof=True)
        consumer.assign([kit.TopicPartition(name, 0, 8)])
        seen = some(consumer, 3)
        consumer.close()
        return [each[:3] + each[-1:] for each in seen]

    assert both(script)[2][2:] == [10, values.KafkaError._PARTITION_EOF]


def test_what_a_consumer_refuses(both: Both, created: Callable[[str], str]) -> None:
    def script(kit: Any, name: str) -> Any:
        at, consumer = kit.TopicPartition, reader(kit, created(name))
        seen = [
            attempt(kit.Consumer, kit.basic | {"group.id": name, "auto.offset.reset": "sometime"}),
            attempt(kit.Consumer, kit.basic | {"group.id": name, "fetch.min": 1}),
            attempt(consumer.subscribe, name),
            attempt(consumer.subscribe, [name], on_assign=5),
            attempt(consumer.assign, name),
            attempt(consumer.assign, [name]),
            attempt(consumer.seek, at(name, 0, 1)),
            attempt(consumer.consume, -1),
            attempt(consumer.commit, asynchronous=False),
        ]
        consumer.close()
        return [*seen, attempt(consumer.subscribe, [name]), attempt(consumer.assignment)]

    kinds = {kind for kind, _ in both(script)}
    assert kinds <= {"KafkaException", "TypeError", "ValueError", "RuntimeError"}
