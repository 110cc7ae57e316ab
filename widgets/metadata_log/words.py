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
from widgets.tables import rows_of

Fields = Mapping[str, Any]
TopicNames = Mapping[str, str]  # by topic id
NO_OP = "NoOpRecord"
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


def _controller(fields: Fields, topics: TopicNames) -> str:
    return controller(fields["controllerId"] - FIRST_CONTROLLER + 1)


NAMES = {  # in the table: (partition); .principal is a field; anything else is the name itself
    "(partition)": _partition,
    "(topic)": _topic,
    "(broker)": _broker,
    "(resource)": _resource,
    "(controller)": _controller,
}


def _name(told: str) -> Callable[[Fields, TopicNames], str]:
    if told.startswith("."):
        return lambda fields, topics: str(fields[told[1:]])
    return NAMES.get(told, lambda fields, topics: told)


MEANINGS: Mapping[str, RecordMeaning] = {
    record: RecordMeaning(group, _name(name), purpose)
    for record, group, name, purpose in rows_of(__file__, "records.tsv")
}
OTHERS = RecordMeaning("others", _name("something else"), "")
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
