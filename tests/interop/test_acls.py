"""Access control lists on a real broker.

Everybody is User:ANONYMOUS here, so hosts stand for users: the broker, and whoever sets the rules,
comes from 127.0.0.1 and may do everything; the client that is tried comes from 127.0.0.2.
"""

import time
from datetime import timedelta

import pytest

from engine.errors import ErrorCode
from engine.wire.apis import Api
from engine.wire.codec import message
from engine.wire.kraft_apis import KRaftApi
from tests.interop.plain import TEN_SECONDS, asked, build, new_name
from tests.interop.raw import Raw, batch, fetch, produce

CONFIG = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
TOPIC, GROUP, CLUSTER, TRANSACTION = 2, 3, 4, 5
LITERAL, PREFIXED = 3, 4
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = range(2, 9)
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = range(9, 13)
DENY, ALLOW = 2, 3
ANYTHING = {
    "resource_type_filter": 1,
    "pattern_type_filter": 1,
    "operation": 1,
    "permission_type": 1,
}
HERE, THERE = "127.0.0.1", "127.0.0.2"
NAMES = {CLUSTER: "kafka-cluster"}


def rule(kind, operation, name="*", *, host=THERE, permission=ALLOW, pattern=LITERAL):
    return {
        "resource_type": kind,
        "resource_name": NAMES.get(kind, name),
        "resource_pattern_type": pattern,
        "principal": "User:ANONYMOUS",
        "host": host,
        "operation": operation,
        "permission_type": permission,
    }


@pytest.fixture
def rules(client):
    """Sets the rules for the other address; whoever is here may do everything."""
    here = [rule(kind, ALL, host=HERE) for kind in (TOPIC, GROUP, CLUSTER, TRANSACTION)]

    def set_rules(*wanted):
        results = asked(client, Api.CREATE_ACLS, creations=[*here, *wanted]).results
        assert [each.error_code for each in results] == [0] * len(results), results

    set_rules()
    yield set_rules
    asked(client, Api.DELETE_ACLS, filters=[ANYTHING])


@pytest.fixture
def elsewhere(cluster):
    with Raw(cluster.bootstrap, source=THERE) as client:
        yield client


@pytest.fixture
def topic(client):
    name = new_name()
    client.create(name)
    return name


def test_rules_are_stored_described_and_deleted(client, rules):
    new = rule(TOPIC, READ, "orders-", pattern=PREFIXED)
    rules(new)
    only = {**ANYTHING, "resource_type_filter": TOPIC, "resource_name_filter": "orders-"}
    (found,) = asked(client, Api.DESCRIBE_ACLS, **only).resources
    assert (found.resource_name, found.pattern_type) == ("orders-", PREFIXED)
    ((entry,),) = [found.acls]
    assert (entry.host, entry.operation, entry.permission_type) == (THERE, READ, ALLOW)
    (result,) = asked(client, Api.DELETE_ACLS, filters=[only]).filter_results
    assert [each.resource_name for each in result.matching_acls] == ["orders-"]
    assert asked(client, Api.DESCRIBE_ACLS, **only).resources == ()


# -- the table of operations: nothing allowed, and the least that is enough --------------------

MARKER = {
    "producer_id": 1,
    "producer_epoch": 0,
    "transaction_result": True,
    "topics": [{"name": "?", "partition_indexes": (0,)}],
    "coordinator_epoch": 0,
}
STATE = {"controller_id": 9, "controller_epoch": 0}
MEMBER = {"group_id": "g", "generation_id": 1, "member_id": "m"}
MOVE = {"topics": [{"name": "T", "partitions": [{"partition_index": 0, "replicas": (1,)}]}]}
PRODUCER = {"producer_id": 1, "producer_epoch": 0}
OFFSET = {"partition_index": 0, "committed_offset": 0, "committed_metadata": None}
COMMIT = {"topics": [{"name": "T", "partitions": [OFFSET]}]}
OF_TOPIC = {"resource_type": 2, "resource_name": "T"}
MINUTE = timedelta(minutes=1)
IN_CLUSTER, IN_TOPIC = "cluster", "topic"
IN_GROUP, IN_TRANSACTION = "group", "transactional_id"

# Each request, the least rules for it, and what it is refused for without the last of them. T is
# the name of a topic, g of a group, t a transactional id.
TABLE = [
    (Api.LIST_OFFSETS, {"topics": [{"name": "T", "partitions": [{"partition_index": 0}]}]},
     [(TOPIC, DESCRIBE)], IN_TOPIC),
    (Api.METADATA, {"topics": [{"name": "T"}]}, [(TOPIC, DESCRIBE)], IN_TOPIC),
    (Api.WRITE_TXN_MARKERS, {"markers": [MARKER]}, [(CLUSTER, CLUSTER_ACTION)], IN_CLUSTER),
    (Api.OFFSET_COMMIT, {"group_id": "g", **COMMIT}, [(TOPIC, READ), (GROUP, READ)], IN_GROUP),
    (Api.OFFSET_COMMIT, {"group_id": "g", **COMMIT}, [(GROUP, READ), (TOPIC, READ)], IN_TOPIC),
    (Api.OFFSET_FETCH, {"group_id": "g", "topics": [{"name": "T", "partition_indexes": (0,)}]},
     [(TOPIC, DESCRIBE), (GROUP, DESCRIBE)], IN_GROUP),
    (Api.OFFSET_FETCH, {"group_id": "g", "topics": [{"name": "T", "partition_indexes": (0,)}]},
     [(GROUP, DESCRIBE), (TOPIC, DESCRIBE)], IN_TOPIC),
    (Api.FIND_COORDINATOR, {"key": "g", "key_type": 0}, [(GROUP, DESCRIBE)], IN_GROUP),
    (Api.FIND_COORDINATOR, {"key": "t", "key_type": 1}, [(TRANSACTION, DESCRIBE)], IN_TRANSACTION),
    (Api.JOIN_GROUP, {"group_id": "g", "session_timeout": MINUTE}, [(GROUP, READ)], IN_GROUP),
    (Api.HEARTBEAT, MEMBER, [(GROUP, READ)], IN_GROUP),
    (Api.LEAVE_GROUP, {"group_id": "g"}, [(GROUP, READ)], IN_GROUP),
    (Api.SYNC_GROUP, MEMBER, [(GROUP, READ)], IN_GROUP),
    (Api.DESCRIBE_GROUPS, {"groups": ("g",)}, [(GROUP, DESCRIBE)], IN_GROUP),
    (Api.CREATE_TOPICS,
     {"topics": [{"name": "new", "num_partitions": 1, "replication_factor": 1}],
      "validate_only": True}, [(TOPIC, DESCRIBE_CONFIGS), (TOPIC, CREATE)], IN_TOPIC),
    (Api.CREATE_TOPICS,
     {"topics": [{"name": "new", "num_partitions": 1, "replication_factor": 1}],
      "validate_only": True}, [(TOPIC, DESCRIBE_CONFIGS), (CLUSTER, CREATE)], IN_TOPIC),
    (Api.DELETE_TOPICS, {"topics": [{"name": "T"}], "timeout": MINUTE}, [(TOPIC, DELETE)],
     IN_TOPIC),
    (Api.DELETE_RECORDS,
     {"topics": [{"name": "T", "partitions": [{"partition_index": 0}]}], "timeout": MINUTE},
     [(TOPIC, DELETE)], IN_TOPIC),
    (Api.INIT_PRODUCER_ID,
     {"transactional_id": "t", "transaction_timeout": MINUTE, "producer_epoch": -1},
     [(TRANSACTION, WRITE)], IN_TRANSACTION),
    (Api.OFFSET_FOR_LEADER_EPOCH, {"topics": [{"topic": "T", "partitions": [{"partition": 0}]}]},
     [(TOPIC, DESCRIBE)], IN_TOPIC),
    (Api.ADD_PARTITIONS_TO_TXN,
     {"transactional_id": "t", "producer_id": 1,
      "topics": [{"name": "T", "partitions": (0,)}]},
     [(TOPIC, WRITE), (TRANSACTION, WRITE)], IN_TRANSACTION),
    (Api.ADD_PARTITIONS_TO_TXN,
     {"transactional_id": "t", "producer_id": 1,
      "topics": [{"name": "T", "partitions": (0,)}]},
     [(TRANSACTION, WRITE), (TOPIC, WRITE)], IN_TOPIC),
    (Api.ADD_OFFSETS_TO_TXN, {"transactional_id": "t", "group_id": "g", **PRODUCER},
     [(GROUP, READ), (TRANSACTION, WRITE)], IN_TRANSACTION),
    (Api.ADD_OFFSETS_TO_TXN, {"transactional_id": "t", "group_id": "g", **PRODUCER},
     [(TRANSACTION, WRITE), (GROUP, READ)], IN_GROUP),
    (Api.END_TXN, {"transactional_id": "t", "committed": True, **PRODUCER},
     [(TRANSACTION, WRITE)], IN_TRANSACTION),
    (Api.TXN_OFFSET_COMMIT, {"transactional_id": "t", "group_id": "g", **PRODUCER, **COMMIT},
     [(TRANSACTION, WRITE), (TOPIC, READ), (GROUP, READ)], IN_GROUP),
    (Api.TXN_OFFSET_COMMIT, {"transactional_id": "t", "group_id": "g", **PRODUCER, **COMMIT},
     [(TRANSACTION, WRITE), (GROUP, READ), (TOPIC, READ)], IN_TOPIC),
    (Api.DESCRIBE_ACLS, ANYTHING, [(CLUSTER, DESCRIBE)], IN_CLUSTER),
    (Api.CREATE_ACLS, {"creations": [rule(TOPIC, READ, "x")]}, [(CLUSTER, ALTER)], IN_CLUSTER),
    (Api.DELETE_ACLS, {"filters": [{**ANYTHING, "resource_name_filter": "x"}]},
     [(CLUSTER, ALTER)], IN_CLUSTER),
    (Api.DESCRIBE_CONFIGS, {"resources": [{**OF_TOPIC, "configuration_keys": None}]},
     [(TOPIC, DESCRIBE_CONFIGS)], IN_TOPIC),
    (Api.DESCRIBE_CONFIGS,
     {"resources": [{"resource_type": 4, "resource_name": "1", "configuration_keys": None}]},
     [(CLUSTER, DESCRIBE_CONFIGS)], IN_CLUSTER),
    (Api.ALTER_CONFIGS, {"resources": [OF_TOPIC], "validate_only": True},
     [(TOPIC, ALTER_CONFIGS)], IN_TOPIC),
    (Api.INCREMENTAL_ALTER_CONFIGS, {"resources": [OF_TOPIC], "validate_only": True},
     [(TOPIC, ALTER_CONFIGS)], IN_TOPIC),
    (Api.ALTER_REPLICA_LOG_DIRS,
     {"dirs": [{"path": "/x", "topics": [{"name": "T", "partitions": (0,)}]}]},
     [(CLUSTER, ALTER)], IN_CLUSTER),
    (Api.DESCRIBE_CLIENT_QUOTAS, {"components": [], "strict": False},
     [(CLUSTER, DESCRIBE_CONFIGS)], IN_CLUSTER),
    (Api.ALTER_CLIENT_QUOTAS, {"validate_only": True, "entries": [
        {"entity": [{"entity_type": "user", "entity_name": "eve"}],
         "ops": [{"key": "producer_byte_rate", "value": 1.0, "remove": False}]}]},
     [(CLUSTER, ALTER_CONFIGS)], IN_CLUSTER),
    (Api.CREATE_PARTITIONS,
     {"topics": [{"name": "T", "count": 2, "assignments": None}], "validate_only": True,
      "timeout": MINUTE}, [(TOPIC, ALTER)], IN_TOPIC),
    (Api.DELETE_GROUPS, {"groups_names": ("g",)}, [(GROUP, DELETE)], IN_GROUP),
    (Api.ELECT_LEADERS, {"topic_partitions": [{"topic": "T", "partitions": (0,)}]},
     [(CLUSTER, ALTER)], IN_CLUSTER),
    (Api.ALTER_PARTITION_REASSIGNMENTS, MOVE, [(CLUSTER, ALTER)], IN_CLUSTER),
    (Api.LIST_PARTITION_REASSIGNMENTS, {"topics": None}, [(CLUSTER, DESCRIBE)], IN_CLUSTER),
    (Api.OFFSET_DELETE,
     {"group_id": "g", "topics": [{"name": "T", "partitions": [{"partition_index": 0}]}]},
     [(TOPIC, READ), (GROUP, DELETE)], IN_GROUP),
    (Api.OFFSET_DELETE,
     {"group_id": "g", "topics": [{"name": "T", "partitions": [{"partition_index": 0}]}]},
     [(GROUP, DELETE), (TOPIC, READ)], IN_TOPIC),
    (Api.UPDATE_FEATURES, {"timeout": MINUTE}, [(CLUSTER, ALTER)], IN_CLUSTER),
    (Api.DESCRIBE_PRODUCERS, {"topics": [{"name": "T", "partition_indexes": (0,)}]},
     [(TOPIC, READ)], IN_TOPIC),
]  # fmt: skip


# With ZooKeeper alone.
CREDENTIALS = [
    (Api.DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": None}, [(CLUSTER, DESCRIBE)], IN_CLUSTER),
    (
        Api.ALTER_USER_SCRAM_CREDENTIALS,
        {"deletions": [{"name": "eve", "mechanism": 1}]},
        [(CLUSTER, ALTER)],
        IN_CLUSTER,
    ),
]

# Between a controller with ZooKeeper and its brokers; without it, no broker serves them.
BETWEEN = [
    (Api.LEADER_AND_ISR, STATE),
    (Api.STOP_REPLICA, STATE),
    (Api.UPDATE_METADATA, STATE),
    (Api.CONTROLLED_SHUTDOWN, {"broker_id": 9}),
    (Api.ALTER_ISR, {"broker_id": 9}),
]
OF_KRAFT = {
    *(KRaftApi.DESCRIBE_QUORUM, KRaftApi.UNREGISTER_BROKER),
    *(KRaftApi.DESCRIBE_TRANSACTIONS, KRaftApi.LIST_TRANSACTIONS),
}


def codes(answer):
    """Every error code in an answer, however deep."""
    if isinstance(answer, tuple):
        return {code for each in answer for code in codes(each)}
    names = getattr(answer, "__dataclass_fields__", ())
    below = {code for name in names for code in codes(getattr(answer, name))}
    return below | {ErrorCode(getattr(answer, name)) for name in names if "error_code" in name}


def named(value, topic):
    """The fields of a request, with the topic's name for T."""
    if isinstance(value, dict):
        return {key: named(each, topic) for key, each in value.items()}
    if isinstance(value, list):
        return [named(each, topic) for each in value]
    return topic if value == "T" else value


@pytest.mark.parametrize(
    ("api", "fields", "least", "missing"),
    [*TABLE, *(pytest.param(*row, marks=pytest.mark.of_zookeeper) for row in CREDENTIALS)],
    ids=[f"{row[0].name}-{row[3]}" for row in (*TABLE, *CREDENTIALS)],
)
def test_the_least_rules_are_enough_and_without_one_of_them_it_is_refused(
    rules, elsewhere, topic, api, fields, least, missing
):
    failed = getattr(ErrorCode, f"{missing}_authorization_failed")
    rules(*(rule(*each) for each in least[:-1]))
    assert failed in codes(asked(elsewhere, api, **named(fields, topic)))
    rules(rule(*least[-1]))
    answer = asked(elsewhere, api, **named(fields, topic))
    assert not [code for code in codes(answer) if "authorization" in code.name], answer


@pytest.mark.parametrize(("api", "fields"), BETWEEN, ids=[row[0].name for row in BETWEEN])
def test_what_a_controller_asks_needs_cluster_action(cluster, rules, elsewhere, api, fields):
    if cluster.is_kraft:
        elsewhere.post(api, build(message(api, api.newest, "request"), fields))
        assert elsewhere.hung_up()
        return
    assert ErrorCode.cluster_authorization_failed in codes(asked(elsewhere, api, **fields))
    rules(rule(CLUSTER, CLUSTER_ACTION))
    answer = asked(elsewhere, api, **fields)
    assert not [code for code in codes(answer) if "authorization" in code.name], answer


def test_the_table_above_has_every_api_that_asks_for_an_operation(cluster, client):
    served = {each.api_key for each in asked(client, Api.API_VERSIONS, 2).api_keys}
    elsewhere = {  # tests of their own below, or none because everybody may
        Api.PRODUCE, Api.FETCH, Api.LIST_GROUPS, Api.DESCRIBE_CLUSTER, Api.DESCRIBE_LOG_DIRS,
        Api.API_VERSIONS, Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE,
    }  # fmt: skip
    of_zookeeper = {*(row[0] for row in (*BETWEEN, *CREDENTIALS)), *range(38, 42)}
    of_mode = OF_KRAFT if cluster.is_kraft else of_zookeeper
    assert served == {row[0] for row in TABLE} | of_mode | elsewhere


# -- what is shown, read and written -----------------------------------------------------------


def test_produce_and_fetch(rules, elsewhere, topic):
    refused = ErrorCode.topic_authorization_failed
    assert elsewhere.produce(topic, batch("a")).error_code == refused
    assert elsewhere.fetch(topic, 0).error_code == refused
    rules(rule(TOPIC, WRITE, topic), rule(TOPIC, READ, topic))
    assert elsewhere.produce(topic, batch("a")).error_code == 0
    assert [each.value for each in elsewhere.read(topic)] == [b"a"]


@pytest.mark.parametrize("version", range(7))
def test_the_offsets_of_a_denied_topic_beside_those_of_an_allowed_one(
    client, rules, elsewhere, topic, version
):
    secret = new_name()
    client.create(secret)
    rules(rule(TOPIC, DESCRIBE, topic))
    row = {"partition_index": 0, "timestamp": -1}
    topics = [{"name": name, "partitions": [row]} for name in (secret, topic)]
    answer = asked(elsewhere, Api.LIST_OFFSETS, version, replica_id=-1, topics=topics)
    assert {it.name: it.partitions[0].error_code for it in answer.topics} == {
        topic: ErrorCode.none,
        secret: ErrorCode.topic_authorization_failed,
    }


def test_an_unacknowledged_batch_that_is_refused_closes_the_connection(rules, elsewhere, topic):
    elsewhere.post(Api.PRODUCE, produce(topic, batch("a"), acks=0))
    assert elsewhere.hung_up()


def test_who_may_delete_the_cluster_may_delete_topics_without_zookeeper(
    cluster, rules, elsewhere, topic
):
    rules(rule(CLUSTER, DELETE))
    wanted = {"topics": [{"name": topic, "topic_id": None}], "timeout": TEN_SECONDS}
    (row,) = asked(elsewhere, Api.DELETE_TOPICS, **wanted).responses
    refused = ErrorCode.topic_authorization_failed
    assert row.error_code == (ErrorCode.none if cluster.is_kraft else refused)


def test_whoever_says_to_be_a_follower_needs_cluster_action(rules, elsewhere, topic):
    request = fetch(topic, 0)
    request.replica_id = 2

    def code():
        return elsewhere.ask(Api.FETCH, request).responses[0].partitions[0].error_code

    rules(rule(TOPIC, READ, topic))
    assert code() == ErrorCode.topic_authorization_failed
    rules(rule(CLUSTER, CLUSTER_ACTION))
    assert code() == ErrorCode.none


def test_who_may_not_follow_opens_and_closes_no_session(client, rules, elsewhere, topic):
    def follow(someone, session, wanted=True):
        request = fetch(topic, 0, session=session)
        request.replica_id = 2
        if not wanted:
            request.topics = ()
        return someone.ask(Api.FETCH, request)

    rules(rule(TOPIC, READ, topic))
    opened = follow(client, (0, 0)).session_id
    assert opened != 0
    assert follow(elsewhere, (0, 0)).session_id == 0
    for number in (0, opened):
        assert follow(elsewhere, (number, 0), wanted=False).session_id == 0
        assert follow(elsewhere, (number, -1), wanted=False).error_code == 0
    stolen = follow(elsewhere, (opened, 1), wanted=False)
    assert stolen.error_code == ErrorCode.fetch_session_id_not_found
    assert follow(client, (opened, 1), wanted=False).session_id == opened


def test_an_idempotent_producer_writes_some_topic_or_may_do_so_anyway(rules, elsewhere):
    def code():
        start = {"transactional_id": None, "producer_epoch": -1}
        return asked(elsewhere, Api.INIT_PRODUCER_ID, **start).error_code

    rules(rule(TOPIC, WRITE, permission=DENY))
    assert code() == ErrorCode.cluster_authorization_failed
    rules(rule(CLUSTER, IDEMPOTENT_WRITE))
    assert code() == ErrorCode.none


def test_a_topic_that_may_not_be_described_looks_absent(client, rules, elsewhere, topic):
    seen = new_name()
    client.create(seen)
    rules(rule(TOPIC, DESCRIBE, seen))
    assert [each.name for each in asked(elsewhere, Api.METADATA, topics=None).topics] == [seen]
    for version in (0, 1, 4):
        rows = asked(elsewhere, Api.METADATA, version, topics=[{"name": topic}]).topics
        unknown = asked(elsewhere, Api.METADATA, version, topics=[{"name": "unknown"}]).topics
        assert [each.error_code for each in rows] == [ErrorCode.topic_authorization_failed]
        assert [each.error_code for each in unknown] == [ErrorCode.topic_authorization_failed]
        assert rows[0].partitions == ()
        assert not rows[0].is_internal


def test_a_new_topic_is_created_for_those_who_may(rules, elsewhere):
    name = new_name()
    rules(rule(TOPIC, DESCRIBE, name))
    (row,) = elsewhere.topics(name, create=True)
    assert row.error_code == ErrorCode.topic_authorization_failed
    rules(rule(TOPIC, CREATE, name))
    (row,) = elsewhere.topics(name, create=True)
    assert row.error_code in (ErrorCode.leader_not_available, ErrorCode.none)


def test_a_topic_that_nobody_wants_to_create_is_only_unknown(rules, elsewhere):
    """A consumer waits for it; TOPIC_AUTHORIZATION_FAILED would end it."""
    name = new_name()
    rules(rule(TOPIC, DESCRIBE, name))
    (row,) = elsewhere.topics(name, create=False)
    assert row.error_code == ErrorCode.unknown_topic_or_partition


def test_operations_that_are_allowed_are_told(rules, elsewhere, topic):
    rules(rule(TOPIC, READ, topic), rule(CLUSTER, DESCRIBE), rule(CLUSTER, CREATE))
    asks = {"topics": [{"name": topic}], "include_topic_authorized_operations": True}
    (row,) = asked(elsewhere, Api.METADATA, **asks).topics
    assert row.topic_authorized_operations == 1 << READ | 1 << DESCRIBE
    cluster = asked(elsewhere, Api.DESCRIBE_CLUSTER, include_cluster_authorized_operations=True)
    assert cluster.cluster_authorized_operations == 1 << DESCRIBE | 1 << CREATE


def test_groups_that_may_not_be_described_are_not_listed(client, rules, elsewhere):
    join = {
        "group_id": "mine",
        "session_timeout": timedelta(seconds=10),
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    coordinated(client, "mine")
    member = asked(client, Api.JOIN_GROUP, **join).member_id
    assert asked(client, Api.JOIN_GROUP, **join, member_id=member).error_code == 0

    def listed(client):
        return [each.group_id for each in asked(client, Api.LIST_GROUPS).groups]

    assert "mine" in listed(client)
    assert listed(elsewhere) == []
    rules(rule(GROUP, DESCRIBE, "mine"))
    assert listed(elsewhere) == ["mine"]


def coordinated(client, group):
    """Wait until the group has a coordinator."""
    deadline = time.monotonic() + 20
    while asked(client, Api.FIND_COORDINATOR, key=group, key_type=0).error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_disks_are_shown_to_those_who_may_describe_the_cluster(rules, elsewhere):
    assert asked(elsewhere, Api.DESCRIBE_LOG_DIRS, topics=None).results == ()
    rules(rule(CLUSTER, DESCRIBE))
    assert asked(elsewhere, Api.DESCRIBE_LOG_DIRS, topics=None).results


def test_old_versions_of_delete_topics_are_checked_too(rules, elsewhere, topic):
    (row,) = asked(elsewhere, Api.DELETE_TOPICS, 3, topic_names=(topic,)).responses
    assert row.error_code == ErrorCode.topic_authorization_failed


def test_deny_wins(rules, elsewhere, topic):
    rules(rule(TOPIC, READ, topic), rule(TOPIC, READ, topic[:3], permission=DENY, pattern=PREFIXED))
    assert elsewhere.fetch(topic, 0).error_code == ErrorCode.topic_authorization_failed


# -- bad rules ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ({"resource_name": ""}, ErrorCode.invalid_request),
        ({"resource_type": CLUSTER, "resource_name": "mine"}, ErrorCode.invalid_request),
        ({"principal": "anybody"}, ErrorCode.unknown_server_error),
        ({"operation": 1}, ErrorCode.unknown_server_error),
        ({"resource_type": 1}, ErrorCode.unknown_server_error),
    ],
)
def test_a_bad_rule_is_refused_and_those_beside_it_are_not(cluster, client, rules, bad, code):
    good = rule(TOPIC, READ, new_name())
    results = asked(client, Api.CREATE_ACLS, creations=[good, {**good, **bad}]).results
    selects = cluster.is_kraft and "principal" not in bad
    assert [each.error_code for each in results] == [
        0,
        ErrorCode.invalid_request if selects else code,
    ]


def test_a_slash_in_a_name_is_refused_where_names_are_in_paths(cluster, client, rules):
    """Where there is no ZooKeeper, each name of a group can have a rule."""
    wanted = rule(GROUP, READ, f"team/{new_name()}")
    (answer,) = asked(client, Api.CREATE_ACLS, creations=[wanted]).results
    assert answer.error_code == (0 if cluster.is_kraft else ErrorCode.invalid_request)


@pytest.mark.parametrize("field", ["resource_type", "operation", "permission_type"])
def test_an_unknown_number_closes_the_connection(cluster, rules, field):
    with Raw(cluster.bootstrap) as client:
        wanted = {"creations": [rule(TOPIC, READ) | {field: 99}]}
        client.post(Api.CREATE_ACLS, build(message(Api.CREATE_ACLS, 2, "request"), wanted))
        assert client.hung_up()
