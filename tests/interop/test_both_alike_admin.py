"""AdminClient: ours and confluent-kafka's do the same, and say the same (see alike.py)."""

from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest

from engine.client import values
from engine.cluster.cluster import Cluster
from tests.interop import alike
from tests.interop.alike import Both, attempt, both_on, places, plain
from tests.interop.watch import until

CONFIG = alike.CONFIG

# Theirs, of alter_configs and list_groups.
pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")


@pytest.fixture
def both(cluster: Cluster) -> Both:
    return both_on(cluster)


def admin_of(kit: Any) -> Any:
    return kit.AdminClient(kit.basic)


def made(kit: Any, name: str, partitions: int = 2) -> Any:
    """An admin client, and a topic that is there."""
    admin = admin_of(kit)
    admin.create_topics([kit.NewTopic(name, partitions, 1)])[name].result()
    until(lambda: len(admin.list_topics(name).topics[name].partitions) == partitions)
    return admin


def test_topics_come_and_go(both: Both) -> None:
    def script(kit: Any, name: str) -> Any:
        admin = admin_of(kit)
        wanted = [
            kit.NewTopic(name, 2, 1, config={"retention.ms": "1000"}),
            kit.NewTopic(f"{name}-by-hand", num_partitions=1, replica_assignment=[[1]]),
            kit.NewTopic(f"{name}-defaults"),
            kit.NewTopic(f"{name}-wide", 1, 3),
            kit.NewTopic(f"{name}-odd", 1, 1, config={"retention.ms": "soon"}),
            kit.NewTopic("no such name!", 1, 1),
        ]
        return [
            plain(admin.create_topics(wanted, validate_only=True), name),
            plain(admin.create_topics(wanted, operation_timeout=10, request_timeout=20), name),
            plain(admin.create_topics(wanted[:1]), name),
            plain(admin.create_partitions([kit.NewPartitions(name, 4)]), name),
            plain(admin.create_partitions([kit.NewPartitions(name, 3)]), name),
            plain(admin.create_partitions([kit.NewPartitions(f"{name}-not", 3)]), name),
            until(lambda: len(admin.list_topics(name).topics[name].partitions) == 4),
            plain(admin.delete_topics([name, f"{name}-not"]), name),
            until(lambda: name not in admin.list_topics().topics),
        ]

    validated, created, again, more, fewer, *_ = both(script)
    assert validated == created
    assert created["NAME"] is created["NAME-defaults"] is created["NAME-by-hand"] is None
    assert created["NAME-wide"] == ["KafkaException", values.KafkaError.INVALID_REPLICATION_FACTOR]
    assert again["NAME"] == ["KafkaException", values.KafkaError.TOPIC_ALREADY_EXISTS]
    assert more["NAME"] is None
    assert fewer["NAME"] == ["KafkaException", values.KafkaError.INVALID_PARTITIONS]


def test_topics_and_brokers_are_described(both: Both) -> None:
    def script(kit: Any, name: str) -> Any:
        admin = made(kit, name)
        listed = admin.list_topics(timeout=10)
        there, missing = (admin.list_topics(each).topics[each] for each in (name, f"{name}-not"))
        return [
            plain(admin.describe_topics(kit.TopicCollection([name, f"{name}-not"])), name),
            vars(admin.describe_cluster().result()),
            admin.cluster_id(),
            [listed.cluster_id, listed.controller_id, listed.brokers],
            [str(listed), str(listed.brokers[1]), name in listed.topics],
            [there.topic, there.error, there.partitions],
            [missing.topic, missing.partitions, missing.error is None],
            str(kit.Node(1, "host", 9092)),
        ]

    described, *_ = both(script)
    assert described["NAME"]["partitions"][1]["leader"]["id"] == 1


def test_configurations(both: Both) -> None:
    def script(kit: Any, name: str) -> Any:
        admin, operation = made(kit, name), kit.AlterConfigOpType
        topic = kit.ConfigResource(kit.ConfigResource.Type.TOPIC, name)

        def of(resource: Any, key: str) -> Any:
            entry = admin.describe_configs([resource])[resource].result()[key]
            source = kit.ConfigSource(entry.source)
            synonyms = {each: it.value for each, it in entry.synonyms.items()}
            flags = (entry.is_default, entry.is_read_only, entry.is_sensitive)
            return [entry.name, entry.value, source, flags, synonyms]

        def change(key: str, how: Any, value: str | None = None) -> Any:
            entry = kit.ConfigEntry(key, value, incremental_operation=how)
            resource = kit.ConfigResource("topic", name, incremental_configs=[entry])
            return plain(admin.incremental_alter_configs([resource])[resource], name)

        replaced = kit.ConfigResource("topic", name, {"retention.ms": "7000"})
        return [
            of(topic, "retention.ms"),
            change("retention.ms", operation.SET, "5000"),
            change("cleanup.policy", operation.APPEND, "compact"),
            [of(topic, "retention.ms"), of(topic, "cleanup.policy")],
            change("cleanup.policy", operation.SUBTRACT, "delete"),
            change("retention.ms", operation.DELETE),
            change("retention", operation.SET, "1"),
            change("retention.ms", operation.SET, "soon"),
            [of(topic, "retention.ms"), of(topic, "cleanup.policy")],
            plain(admin.alter_configs([replaced], validate_only=True), name),
            of(topic, "retention.ms"),
            plain(admin.alter_configs([replaced]), name),
            [of(topic, "retention.ms"), of(topic, "cleanup.policy")],
            of(kit.ConfigResource("broker", "1"), "log.retention.hours"),
            plain(admin.describe_configs([kit.ConfigResource("group", name)]), name),
        ]

    first, *_, last = both(script)
    assert first[1:3] == ["-1", "STATIC_BROKER_CONFIG"]
    assert list(last.values()) == [["KafkaException", values.KafkaError.INVALID_REQUEST]]


def test_offsets_and_records(both: Both) -> None:
    def script(kit: Any, name: str) -> Any:
        admin, spec, place = made(kit, name), kit.OffsetSpec, kit.TopicPartition
        producer = confluent_kafka.Producer(kit.basic)
        for n in range(10):
            producer.produce(name, b"%d" % n, partition=0, timestamp=1000 + n)
        producer.flush()
        asked = {place(name, 1): spec.latest(), place(name, 5): spec.earliest()}
        return [
            places(admin.list_offsets({place(name, 0): spec.latest(), **asked})),
            places(admin.list_offsets({place(name, 0): spec.for_timestamp(1003)})),
            places(admin.list_offsets({place(name, 0): spec.for_timestamp(99_999)})),
            places(
                admin.list_offsets(
                    {place(name, 0): spec.earliest()},
                    isolation_level=kit.IsolationLevel.READ_COMMITTED,
                )
            ),
            places(admin.delete_records([place(name, 0, 4), place(name, 1, 7)])),
            places(admin.delete_records([place(name, 0, kit.OFFSET_END), place(name, 5, 1)])),
            places(admin.list_offsets({place(name, 0): spec.earliest()})),
        ]

    latest, *_, earliest = both(script)
    assert latest[0][2]["offset"] == earliest[0][2]["offset"] == 10


def test_leaders_are_elected(both: Both) -> None:
    """On one broker there is nothing to elect."""

    def script(kit: Any, name: str) -> Any:
        admin, preferred = made(kit, name), kit.ElectionType.PREFERRED
        wanted = [kit.TopicPartition(name, 0), kit.TopicPartition(name, 9)]
        return [
            places(admin.elect_leaders(preferred, wanted).result()),
            places(admin.elect_leaders(kit.ElectionType.UNCLEAN).result()),
        ]

    assert both(script)[0][0][2] == values.KafkaError.ELECTION_NOT_NEEDED


def test_groups(both: Both) -> None:
    def script(kit: Any, name: str) -> Any:
        admin, place, of = made(kit, name), kit.TopicPartition, kit.ConsumerGroupTopicPartitions
        seen: list[Any] = []

        def offsets() -> Any:
            found = admin.list_consumer_group_offsets([of(name)])[name].result()
            return [found.group_id, sorted(found.topic_partitions)]

        def state() -> Any:
            return admin.describe_consumer_groups([name])[name].result().state

        seen += [state(), offsets()]
        wanted = [place(name, 0, 5), place(name, 1, 0, "a note"), place(f"{name}-not", 0, 1)]
        altered = admin.alter_consumer_group_offsets([of(name, wanted)])[name].result()
        seen += [sorted(altered.topic_partitions), state(), offsets()]
        some = admin.list_consumer_group_offsets([of(name, [place(name, 0), place(name, 7)])])
        seen.append(sorted(some[name].result().topic_partitions))
        listed = admin.list_consumer_groups(states={kit.ConsumerGroupState.EMPTY}).result()
        seen.append([vars(each) for each in listed.valid if each.group_id == name])
        with_member(kit.basic, name, lambda: seen.extend(of_members(admin, of, place, name)))
        until(lambda: state() is kit.ConsumerGroupState.EMPTY)
        seen += [admin.delete_consumer_groups([name, f"{name}-not"]), state()]
        return plain(seen, name)

    assert both(script)[0] == "DEAD"


def with_member(basic: Any, name: str, then: Callable[[], None]) -> None:
    """While a member of the group has all of the topic."""
    shares: list[Any] = []
    member = confluent_kafka.Consumer(basic | {"group.id": name, "client.id": "reader"})
    member.subscribe([name], on_assign=lambda _, share: shares.append(share))
    until(lambda: member.poll(0) is None and shares)
    then()
    member.close()


def of_members(admin: Any, of: Any, place: Any, name: str) -> list[Any]:
    found = admin.describe_consumer_groups([name])[name].result()
    (member,) = found.members
    (listed,) = admin.list_groups(name)
    wanted = of(name, [place(name, 0, 1)])
    return [
        [found.group_id, found.is_simple_consumer_group, found.partition_assignor, found.state],
        [found.coordinator, member.client_id, member.host, member.group_instance_id],
        [member.member_id.startswith("reader-"), sorted(member.assignment.topic_partitions)],
        [listed.id, listed.state, listed.protocol_type, listed.protocol, listed.error],
        [len(listed.members), listed.members[0].client_host, listed.members[0].assignment],
        admin.delete_consumer_groups([name]),
        attempt(admin.alter_consumer_group_offsets([wanted])[name].result),
    ]


def test_what_makes_no_sense(both: Both) -> None:
    """It is refused before anybody is asked."""

    def script(kit: Any, name: str) -> Any:
        admin, place, of = admin_of(kit), kit.TopicPartition, kit.ConsumerGroupTopicPartitions
        latest = kit.OffsetSpec.latest()
        return [
            attempt(kit.AdminClient, kit.basic | {"sasl": "?"}),
            attempt(kit.AdminClient, "127.0.0.1:9092"),
            attempt(kit.NewTopic, 5),
            attempt(kit.ConfigResource, "kingdom", name),
            attempt(admin.create_topics, []),
            attempt(admin.create_topics, [kit.NewTopic(name)], validate="yes"),
            attempt(admin.create_topics, [kit.NewTopic(name)], request_timeout=-5),
            attempt(admin.delete_topics, []),
            attempt(admin.delete_topics, name),
            attempt(admin.create_partitions, []),
            attempt(admin.describe_topics, [name]),
            attempt(admin.describe_configs, []),
            attempt(admin.incremental_alter_configs, [name]),
            attempt(admin.list_consumer_groups, states=["stable"]),
            attempt(admin.describe_consumer_groups, []),
            attempt(admin.describe_consumer_groups, name),
            attempt(admin.delete_consumer_groups, []),
            attempt(admin.list_consumer_group_offsets, []),
            attempt(admin.list_consumer_group_offsets, [name]),
            attempt(admin.list_consumer_group_offsets, [of("")]),
            attempt(admin.list_consumer_group_offsets, [of(name, [place(name, 0, 5)])]),
            attempt(admin.list_consumer_group_offsets, [of(name, [])]),
            attempt(admin.alter_consumer_group_offsets, [of(name)]),
            attempt(admin.alter_consumer_group_offsets, [of(name, [place(name, 0)])]),
            attempt(admin.alter_consumer_group_offsets, [of(name, [place(name, -1, 5)])]),
            attempt(admin.list_offsets, [place(name, 0)]),
            attempt(admin.list_offsets, {place(name, 0): 5}),
            attempt(admin.list_offsets, {place(name, -1): latest}),
            attempt(admin.delete_records, [name]),
            attempt(admin.delete_records, [place(name, -1, 5)]),
            attempt(admin.elect_leaders, "preferred"),
        ]

    assert all(kind in ("KafkaException", "TypeError", "ValueError") for kind, _ in both(script))


def test_brokers_that_are_not_there(both: Both) -> None:
    def script(kit: Any, name: str) -> Any:
        with kit.AdminClient(kit.basic | {"bootstrap.servers": "127.0.0.1:1"}) as admin:
            soon = {"request_timeout": 0.3}
            wanted = [kit.NewTopic(name, 1, 1)]
            return [
                plain(admin.create_topics(wanted, **soon), name),
                plain(admin.describe_cluster(**soon), name),
                attempt(admin.list_groups, timeout=0.3),
            ]

    late = ["KafkaException", values.KafkaError._TIMED_OUT]
    for told in both(script):
        assert told in (late, {"NAME": late})
