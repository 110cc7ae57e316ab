"""What a record of the metadata log changes, and how, in words.

PartitionChangeRecord {"partitionId": 0, "topicId": "9bJ...", "leader": 2, "isr": [2, 3]}
    subject    ("partition", "teas-0")
    summary    leader 2, isr 2 3
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engine.cluster.kraft.metadata_log_reader import MetadataEntryKind, MetadataLogEntry
from engine.cluster.link_faults import FIRST_CONTROLLER, controller
from engine.metadata.image_tree import LEVELS

Fields = Mapping[str, Any]
TopicNames = Mapping[str, str]  # by topic id
NO_OP, LEADER_CHANGE = "NoOpRecord", "LeaderChangeMessage"
MIGRATION_STATES = ("NONE", "MIGRATION", "PRE_MIGRATION", "POST_MIGRATION")
RESOURCES = {2: "topic", 4: "broker"}
UNTOLD = frozenset({"partitionId", "topicId", "brokerId", "controllerId", "id"})  # of a subject
SHORT_ID = 6  # letters of an id that tell it from the others


class RecordSubject(NamedTuple):
    """What a record is about."""

    group: str
    name: str


class RecordMeaning(NamedTuple):
    group: str
    name: Callable[[Fields, TopicNames], str]
    purpose: str


def _partition(fields: Fields, topics: TopicNames) -> str:
    return f"{_topic(fields, topics)}-{fields['partitionId']}"


def _topic(fields: Fields, topics: TopicNames) -> str:
    id = str(fields["topicId"])
    return str(fields.get("name") or topics.get(id) or f"topic {id[:SHORT_ID]}…")


def _broker(fields: Fields, topics: TopicNames) -> str:
    return f"broker {fields['brokerId'] if 'brokerId' in fields else fields['id']}"


def _resource(fields: Fields, topics: TopicNames) -> str:
    kind = RESOURCES.get(fields["resourceType"], f"type {fields['resourceType']}")
    return f"{kind} {fields['resourceName'] or '(all)'}"


def _named(name: str) -> Callable[[Fields, TopicNames], str]:
    return lambda fields, topics: name


def _field(name: str) -> Callable[[Fields, TopicNames], str]:
    return lambda fields, topics: str(fields[name])


QUORUM = _named("the quorum")
MEANINGS: Mapping[str, RecordMeaning] = {
    "RegisterBrokerRecord": RecordMeaning(
        "brokers", _broker, "A broker has registered. Its epoch is the offset of this record. It "
        "is fenced until it has read the log up to here."),
    "UnregisterBrokerRecord": RecordMeaning(
        "brokers", _broker, "An administrator has removed a broker that is gone for good."),
    "FenceBrokerRecord": RecordMeaning("brokers", _broker, "The broker leads nothing any more."),
    "UnfenceBrokerRecord": RecordMeaning("brokers", _broker, "The broker may lead again."),
    "BrokerRegistrationChangeRecord": RecordMeaning(
        "brokers", _broker, "A registered broker is fenced (1), is not any more (-1), or asks to "
        "stop in order. With ZooKeeper its znode would come or go."),
    "RegisterControllerRecord": RecordMeaning(
        "controllers", lambda fields, topics: controller(
            fields["controllerId"] - FIRST_CONTROLLER + 1),
        "A controller says where it listens, and whether it is ready for a migration."),
    "TopicRecord": RecordMeaning(
        "topics", _topic, "A topic has a name, and an id that no other topic will ever have."),
    "RemoveTopicRecord": RecordMeaning("topics", _topic, "The topic with all its partitions."),
    "PartitionRecord": RecordMeaning(
        "partitions", _partition, "A partition with all that it has: where its replicas are, who "
        "leads, who is in sync. With ZooKeeper: its state znode, created."),
    "PartitionChangeRecord": RecordMeaning(
        "partitions", _partition, "Only what has changed: a new leader, another ISR, other "
        "replicas. With ZooKeeper: its state znode, written again as a whole."),
    "ConfigRecord": RecordMeaning(
        "configs", _resource, "One key of a configuration. Without a value: it is as by default."),
    "ClientQuotaRecord": RecordMeaning("quotas", _named("a quota"), "How much a client may do."),
    "AccessControlEntryRecord": RecordMeaning("acls", _field("principal"), "What somebody may do."),
    "RemoveAccessControlEntryRecord": RecordMeaning("acls", _field("id"), "Not any more."),
    "UserScramCredentialRecord": RecordMeaning("users", _field("name"), "How a user proves it."),
    "RemoveUserScramCredentialRecord": RecordMeaning("users", _field("name"), "Not any more."),
    "DelegationTokenRecord": RecordMeaning("users", _field("owner"), "A token for a while."),
    "RemoveDelegationTokenRecord": RecordMeaning("users", _field("tokenId"), "Not any more."),
    "FeatureLevelRecord": RecordMeaning(
        "features", _field("name"), "Which records and requests this cluster may use."),
    "ProducerIdsRecord": RecordMeaning(
        "producer ids", _broker, "A broker got a block of a thousand ids for producers."),
    "ZkMigrationStateRecord": RecordMeaning(
        "migration", _named("from ZooKeeper"), "PRE_MIGRATION: the tree is not copied yet. "
        "MIGRATION: it is, and each change is written to both. POST_MIGRATION: ZooKeeper is not "
        "asked any more, and there is no way back."),
    "BeginTransactionRecord": RecordMeaning(
        "quorum", QUORUM, "Records from here to EndTransaction are applied together."),
    "EndTransactionRecord": RecordMeaning("quorum", QUORUM, "Apply what came since the beginning."),
    "AbortTransactionRecord": RecordMeaning("quorum", QUORUM, "Forget it, since the beginning."),
    LEADER_CHANGE: RecordMeaning(
        "quorum", QUORUM, "The first record of an epoch: who leads, and who voted for it. It is "
        "committed when a majority has it, and with it all before."),
    NO_OP: RecordMeaning(
        "quorum", QUORUM, "Nothing has changed for half a second. Once it is committed, everybody "
        "knows that all before it is."),
}  # fmt: skip
OTHERS = RecordMeaning("others", _named("something else"), "")
GROUPS = tuple(dict.fromkeys(meaning.group for meaning in (*MEANINGS.values(), OTHERS)))


def subject(entry: MetadataLogEntry, topics: TopicNames) -> RecordSubject:
    meaning = MEANINGS.get(entry.record, OTHERS)
    return RecordSubject(meaning.group, meaning.name(entry.fields, topics))


def short_name(entry: MetadataLogEntry) -> str:
    """Its type, without what all of them have at the end."""
    return entry.record.removesuffix("Record").removesuffix("Message")


def purpose(entry: MetadataLogEntry) -> str:
    return MEANINGS.get(entry.record, OTHERS).purpose


def summary(entry: MetadataLogEntry) -> str:
    """What it says, on one line, what matters most first."""
    fields = entry.fields
    match entry.record:
        case "LeaderChangeMessage":
            votes = ", ".join(str(it["voterId"]) for it in fields["grantingVoters"])
            return f"{name_of(fields['leaderId'])} leads epoch {entry.epoch}, with votes of {votes}"
        case "ZkMigrationStateRecord":
            return MIGRATION_STATES[fields["zkMigrationState"]]
        case "FeatureLevelRecord":
            return f"level {fields['featureLevel']}{_level(fields)}"
        case "RegisterBrokerRecord":
            migrating = "still with ZooKeeper, " if fields.get("isMigratingZkBroker") else ""
            fenced = "fenced" if fields.get("fenced") else "not fenced"
            return f"{migrating}epoch {fields['brokerEpoch']}, {fenced}, {_listeners(fields)}"
        case "RegisterControllerRecord":
            ready = "ready for a migration" if fields["zkMigrationReady"] else "in no migration"
            return f"{ready}, {_listeners(fields)}"
        case "BrokerRegistrationChangeRecord":
            return _change_of_broker(fields)
        case "ConfigRecord":
            return f"{fields['name']} = {fields['value']}" if fields["value"] else fields["name"]
        case "TopicRecord":
            return f"id {fields['topicId']}"
    return ", ".join(
        f"{name} {_plain(value)}"
        for name, value in sorted(fields.items(), key=_first_what_matters)
        if name not in UNTOLD and value not in ([], None)
    )


IMPORTANT = ("leader", "isr", "leaderEpoch", "partitionEpoch", "replicas")


def _first_what_matters(field: tuple[str, Any]) -> tuple[int, str]:
    name = field[0]
    return IMPORTANT.index(name) if name in IMPORTANT else len(IMPORTANT), name


def _level(fields: Fields) -> str:
    level = fields["featureLevel"]
    known = fields["name"] == "metadata.version" and level <= len(LEVELS)
    return f" ({LEVELS[level - 1]})" if known else ""


def _listeners(fields: Fields) -> str:
    return " ".join(f"{it['host']}:{it['port']}" for it in fields["endPoints"])


def _change_of_broker(fields: Fields) -> str:
    told = {1: "fenced", -1: "fenced no more"}.get(fields.get("fenced", 0), "")
    stops = "wants to stop in order" if fields.get("inControlledShutdown", 0) > 0 else ""
    return ", ".join(filter(None, (told, stops))) or "directories"


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(_plain, value))
    if isinstance(value, dict):
        return " ".join(_plain(it) for it in value.values())
    return str(value)


def name_of(node: int) -> str:
    return controller(node - FIRST_CONTROLLER + 1) if node >= FIRST_CONTROLLER else f"node {node}"


def told(entry: MetadataLogEntry, topics: TopicNames) -> str:
    """An entry as a sentence, read aloud."""
    if entry.kind is MetadataEntryKind.SNAPSHOT:
        return f"a snapshot stands for all that is before offset {entry.offset}"
    if entry.kind is MetadataEntryKind.TRUNCATED:
        return f"the log was truncated to offset {entry.offset}"
    about = subject(entry, topics)
    return f"offset {entry.offset}, {short_name(entry)}, {about.name}: {summary(entry)}"
