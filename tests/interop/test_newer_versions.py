"""What Kafka 3 has more than 2.8, on a broker without ZooKeeper, which has the versions of 3.3.

With access control lists: a client from another address may see only some of what it asks for.
"""

import shutil
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from engine.errors import ErrorCode
from engine.wire.apis import Api
from engine.wire.codec import message
from engine.wire.kraft_apis import KRaftApi
from tests.interop.plain import TEN_SECONDS, asked, build, new_name
from tests.interop.raw import Raw
from tests.interop.watch import until
from tests.modes import KRAFT

CONFIG = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
HERE, THERE = "127.0.0.1", "127.0.0.2"
TOPIC, GROUP, CLUSTER, TRANSACTION, USER = 2, 3, 4, 5, 7
ALL, DESCRIBE, CREATE_TOKENS = 2, 8, 13
NO_GROUP, NO_TOPIC = (
    ErrorCode.group_authorization_failed,
    ErrorCode.topic_authorization_failed,
)


def rule(kind, name, operation=DESCRIBE, host=THERE):
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": 3,
        "principal": "User:ANONYMOUS",
        "host": host,
        "operation": operation,
        "permission_type": 3,
    }


@pytest.fixture(scope="module")
def cluster(latest):
    return latest.of(1, CONFIG, KRAFT)


@pytest.fixture(scope="module")
def allow(cluster):
    """Allows the other address to describe something; whoever is here may do everything."""

    def set_rules(*wanted):
        with Raw(cluster.bootstrap) as client:
            results = asked(client, Api.CREATE_ACLS, creations=wanted).results
        assert [each.error_code for each in results] == [0] * len(results), results

    kinds = {TOPIC: "*", GROUP: "*", CLUSTER: "kafka-cluster", TRANSACTION: "*"}
    set_rules(*(rule(kind, name, ALL, HERE) for kind, name in kinds.items()))
    return set_rules


@pytest.fixture
def elsewhere(cluster, allow):
    with Raw(cluster.bootstrap, source=THERE) as client:
        yield client


# -- Metadata 12: topics by their ids -----------------------------------------------------------


def of_ids(client, *ids, names=()):
    topics = [{"name": None, "topic_id": each} for each in ids]
    topics += [{"name": each, "topic_id": None} for each in names]
    return asked(client, KRaftApi.METADATA, topics=topics).topics


def id_of(client, name):
    (row,) = asked(client, KRaftApi.METADATA, topics=[{"name": name, "topic_id": None}]).topics
    return row.topic_id


def test_topics_are_found_by_their_ids(client, topic):
    unknown, id = uuid4(), id_of(client, topic)
    missing, found = of_ids(client, id, unknown, id)
    assert (missing.error_code, missing.name) == (ErrorCode.unknown_topic_id, None)
    assert missing.topic_id == unknown
    assert (found.error_code, found.name, found.topic_id) == (0, topic, id)
    assert [each.leader_id for each in found.partitions] == [1, 1]


def test_beside_ids_names_do_not_count(client, topic):
    (row,) = of_ids(client, id_of(client, topic), names=[new_name()])
    assert row.name == topic


def test_an_id_does_not_tell_its_name_to_who_may_not_see_it(client, topic, elsewhere, allow):
    secret = new_name()
    client.create(secret)
    allow(rule(TOPIC, topic))
    ids = id_of(client, secret), id_of(client, topic)
    by_id = {each.topic_id: each for each in of_ids(elsewhere, *ids)}
    assert [(by_id[each].error_code, by_id[each].name) for each in ids] == [
        (NO_TOPIC, None),
        (ErrorCode.none, topic),
    ]
    assert by_id[ids[0]].partitions == ()


# -- FindCoordinator 4 and OffsetFetch 8: several at once ----------------------------------------


def coordinators(client, kind, *keys):
    answer = asked(client, KRaftApi.FIND_COORDINATOR, key_type=kind, coordinator_keys=keys)
    return answer.coordinators


@pytest.fixture(scope="module")
def coordinated(cluster):
    """There are topics for groups and transactions, with leaders."""
    with Raw(cluster.bootstrap) as client:
        for kind in (0, 1):
            until(lambda: coordinators(client, kind, "any")[0].error_code == 0)  # noqa: B023


@pytest.mark.usefixtures("coordinated")
def test_the_coordinators_of_many_are_found_in_their_order(client, elsewhere, allow):
    names = new_name(), new_name(), new_name()
    allow(rule(GROUP, names[1]))
    rows = coordinators(client, 0, *names)
    assert [(each.key, each.error_code, each.node_id) for each in rows] == [
        (name, 0, 1) for name in names
    ]
    codes = [each.error_code for each in coordinators(elsewhere, 0, *names)]
    assert codes == [NO_GROUP, ErrorCode.none, NO_GROUP]
    assert [each.error_code for each in coordinators(client, 9, "a", "b")] == [
        ErrorCode.invalid_request
    ] * 2
    assert coordinators(client, 0) == ()


def test_an_older_request_is_refused_in_its_own_shape(elsewhere, allow):
    answer = asked(elsewhere, Api.FIND_COORDINATOR, key=new_name(), key_type=0)
    assert (answer.error_code, answer.node_id) == (NO_GROUP, -1)
    assert asked(elsewhere, Api.OFFSET_FETCH, group_id=new_name()).error_code == NO_GROUP


def commit(client, group, topic, *offsets):
    partitions = [
        {"partition_index": number, "committed_offset": offset, "committed_metadata": ""}
        for number, offset in enumerate(offsets)
    ]
    topics = [{"name": topic, "partitions": partitions}]
    return asked(
        client, Api.OFFSET_COMMIT, group_id=group, generation_id=-1, member_id="", topics=topics
    )


def offsets(client, *groups):
    """By group: its error, and the offsets by topic."""
    answer = asked(client, KRaftApi.OFFSET_FETCH, groups=groups, require_stable=True)
    return {
        group.group_id: (
            group.error_code,
            {each.name: [it.committed_offset for it in each.partitions] for each in group.topics},
        )
        for group in answer.groups
    }


@pytest.mark.usefixtures("coordinated")
def test_the_offsets_of_many_groups(client, topic, elsewhere, allow):
    one, two, three = new_name(), new_name(), new_name()
    for group, found in ((one, (5, 6)), (two, (7,))):
        (row, *_) = commit(client, group, topic, *found).topics[0].partitions
        assert row.error_code == 0
    first = {"group_id": one, "topics": [{"name": topic, "partition_indexes": (1, 0)}]}
    every = [{"group_id": each, "topics": None} for each in (two, three)]
    assert offsets(client, first, *every) == {
        one: (0, {topic: [6, 5]}),
        two: (0, {topic: [7]}),
        three: (0, {}),
    }
    allow(rule(GROUP, one))
    assert offsets(elsewhere, first, *every) == {
        one: (0, {topic: [-1, -1]}),  # the topic is not shown
        two: (NO_GROUP, {}),
        three: (NO_GROUP, {}),
    }
    allow(rule(TOPIC, topic))
    assert offsets(elsewhere, first)[one] == (0, {topic: [6, 5]})


# -- what hangs --------------------------------------------------------------------------------


def begin(client, id, topic):
    minute = timedelta(minutes=1)
    who = {"transactional_id": id, "transaction_timeout": minute, "producer_epoch": -1}
    it = until(lambda: initialized(client, who))
    writer = {"producer_id": it.producer_id, "producer_epoch": it.producer_epoch}
    rows = [{"name": topic, "partitions": (0,)}]
    asked(client, Api.ADD_PARTITIONS_TO_TXN, transactional_id=id, topics=rows, **writer)


def initialized(client, who):
    """None while the coordinator is being loaded."""
    answer = asked(client, Api.INIT_PRODUCER_ID, **who)
    return answer if answer.error_code == 0 else None


@pytest.mark.usefixtures("coordinated")
def test_a_transaction_is_listed_and_described_to_who_may_see_it(client, topic, elsewhere, allow):
    begun, hidden = new_name(), new_name()
    begin(client, begun, topic)
    begin(client, hidden, topic)

    def seen(who, **filters):
        rows = asked(who, KRaftApi.LIST_TRANSACTIONS, **filters).transaction_states
        return {each.transactional_id for each in rows}

    def described(who, *ids):
        states = asked(who, KRaftApi.DESCRIBE_TRANSACTIONS, transactional_ids=ids)
        return {each.transactional_id: each for each in states.transaction_states}

    assert {begun, hidden} <= seen(client, state_filters=("Ongoing",))
    row = described(client, begun)[begun]
    assert (row.error_code, row.transaction_state) == (ErrorCode.none, "Ongoing")
    assert [(each.topic, each.partitions) for each in row.topics] == [(topic, (0,))]

    allow(rule(TRANSACTION, begun))
    assert seen(elsewhere) == {begun}
    rows = described(elsewhere, begun, hidden)
    assert rows[hidden].error_code == ErrorCode.transactional_id_authorization_failed
    assert (rows[begun].error_code, rows[begun].topics) == (ErrorCode.none, ())


# -- disks, and rules about users ----------------------------------------------------------------


def test_the_size_of_a_disk_is_told(cluster, client, elsewhere):
    (disk,) = asked(client, KRaftApi.DESCRIBE_LOG_DIRS, topics=None).results
    assert disk.total_bytes == shutil.disk_usage(Path(disk.log_dir)).total
    assert 0 < disk.usable_bytes < disk.total_bytes
    refused = asked(elsewhere, KRaftApi.DESCRIBE_LOG_DIRS, topics=None)
    assert refused.error_code == ErrorCode.cluster_authorization_failed
    assert refused.results == ()
    (older,) = asked(client, KRaftApi.DESCRIBE_LOG_DIRS, 3, topics=None).results
    assert (older.log_dir, older.total_bytes) == (disk.log_dir, -1)


def test_a_rule_may_be_about_a_user(client, cluster):
    wanted = rule(USER, "User:alice", CREATE_TOKENS)
    (row,) = asked(client, KRaftApi.CREATE_ACLS, creations=[wanted]).results
    assert row.error_code == 0
    client.catch_up()
    only = {
        "resource_type_filter": USER,
        "pattern_type_filter": 3,
        "operation": CREATE_TOKENS,
        "permission_type": 1,
    }
    (found,) = asked(client, KRaftApi.DESCRIBE_ACLS, **only).resources
    assert (found.resource_name, found.acls[0].operation) == ("User:alice", CREATE_TOKENS)
    with Raw(cluster.bootstrap) as older:
        older.post(
            Api.CREATE_ACLS,
            build(message(Api.CREATE_ACLS, 2, "request"), {"creations": [wanted]}),
            2,
        )
        assert older.hung_up()


# -- the keys of a broker without ZooKeeper ------------------------------------------------------


def test_its_own_keys_are_described_and_need_a_restart(client):
    wanted = ("process.roles", "node.id", "controller.quorum.voters")
    one = {"resource_type": 4, "resource_name": "1", "configuration_keys": wanted}
    (found,) = asked(client, Api.DESCRIBE_CONFIGS, resources=[one]).results
    rows = {each.name: each for each in found.configs}
    assert (rows["process.roles"].value, rows["node.id"].value) == ("broker", "1")
    assert rows["controller.quorum.voters"].value.startswith("101@")
    assert all(each.read_only and not each.is_sensitive for each in rows.values())
    change = {"name": "node.id", "config_operation": 0, "value": "7"}
    resource = {"resource_type": 4, "resource_name": "1", "configs": [change]}
    (row,) = asked(client, Api.INCREMENTAL_ALTER_CONFIGS, resources=[resource]).responses
    assert row.error_code == ErrorCode.invalid_request
    assert "Cannot update these configs dynamically" in row.error_message


def test_a_deletion_is_answered_with_the_id_and_a_reason(client, topic):
    id, absent = id_of(client, topic), new_name()
    names = [{"name": each, "topic_id": None} for each in (topic, absent, "twice", "twice", None)]
    wanted = [*names, {"name": None, "topic_id": uuid4()}]
    rows = asked(client, Api.DELETE_TOPICS, topics=wanted, timeout=TEN_SECONDS).responses
    assert [(each.name, each.error_code) for each in rows] == [
        (topic, ErrorCode.none),
        (absent, ErrorCode.unknown_topic_or_partition),
        ("twice", ErrorCode.invalid_request),
        (None, ErrorCode.invalid_request),
        (None, ErrorCode.unknown_topic_id),
    ]
    assert rows[0].topic_id == id
    assert [each.error_message for each in rows] == [
        None,
        "This server does not host this topic-partition.",
        "Duplicate topic name.",
        "Neither topic name nor id were specified.",
        "This server does not host this topic ID.",
    ]


def test_a_topic_that_is_named_twice_has_one_row(client, topic):
    new = {"name": new_name(), "num_partitions": 1, "replication_factor": 1}
    more = {"name": topic, "count": 9, "assignments": None}
    made = asked(client, Api.CREATE_TOPICS, topics=[new, new], timeout=TEN_SECONDS).topics
    grown = asked(client, Api.CREATE_PARTITIONS, topics=[more, more], timeout=TEN_SECONDS).results
    assert [(each.name, each.error_code, each.error_message) for each in (*made, *grown)] == [
        (name, ErrorCode.invalid_request, "Duplicate topic name.") for name in (new["name"], topic)
    ]


def test_an_entry_is_reported_by_each_filter_that_deletes_it(client):
    name = new_name()
    wanted = rule(TOPIC, name), {**rule(TOPIC, name), "permission_type": 1}
    good, bad = asked(client, Api.CREATE_ACLS, creations=wanted).results
    assert (good.error_code, bad.error_code) == (ErrorCode.none, ErrorCode.invalid_request)
    one = {
        "resource_type_filter": TOPIC,
        "resource_name_filter": name,
        "pattern_type_filter": 3,
        "operation": 1,
        "permission_type": 1,
    }
    rows = asked(client, Api.DELETE_ACLS, filters=[one, one]).filter_results
    assert [[each.resource_name for each in row.matching_acls] for row in rows] == [[name], [name]]
