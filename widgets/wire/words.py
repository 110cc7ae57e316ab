"""The content of a request and its result, as a short text.

    Produce v9        orders-0 · 3 records · acks -1        ──>   offset 42
    Fetch v12         orders-0 @ 42                         ──>   orders-0: 93 bytes, HW 45
    JoinGroup v7      kitchen · a new member                ──>   ✗ MEMBER_ID_REQUIRED
    EndTxn v3         till · epoch 0 · commit               ──>   ✗ PRODUCER_FENCED

It is made from the fields, if there are bytes, else from the event's other data. For an API without
a text here it is the group or the topics.
"""

from collections.abc import Callable, Iterator
from typing import Any

from engine.wire.apis import Api, ApiKey
from widgets.log.fields import count
from widgets.wire.anatomy import ANSWER, FieldNode
from widgets.wire.exchange import CODES, Exchange, MessageArrow

NAMED = 2  # partitions that are named; the rest is counted
TOPICS = ("topic", "topic_name", "name")
SPECIAL = {-1: "latest", -2: "earliest"}  # instead of a timestamp
PARTITIONS = ("partition", "partition_index", "index")
NUMBERS = ("partition_indexes", "partitions")  # lists of them, of one topic
TRANSACTIONS = 1  # the kind of key whose coordinator is looked for


def told(arrow: MessageArrow) -> tuple[str, bool]:
    """The text beside an arrow, and whether there was an error."""
    it = arrow.exchange
    if it is None:
        first, *rest = arrow.words.split(", ")
        failed = first.lower() in CODES
        words = ", ".join([*(["lost"] * arrow.lost), first.upper() if failed else first, *rest])
        return words, failed or arrow.lost
    if arrow.way == ANSWER:
        return outcome(it)
    return carried(it), False


def carried(it: Exchange) -> str:
    teller = ASKS.get(it.api, _anything)
    return teller(it, Fields(it.asked)) if it.asked or it.api in FROM_FACTS else _facts(it)


def outcome(it: Exchange) -> tuple[str, bool]:
    if it.errors:
        places = [_place(row) for row in it.facts.get("partitions", ()) if row.get("error")]
        return " · ".join([*it.errors[:NAMED], *_listed(places)]), True
    teller = ANSWERS.get(it.api)
    if teller is None or not (it.answered or it.api in FROM_FACTS):
        return "done", False
    return teller(it, Fields(it.answered)), False


class Fields:
    """The leaves of a message, by name."""

    def __init__(self, leaves: list[FieldNode]) -> None:
        self.leaves = leaves

    def first(self, name: str, default: Any = "") -> Any:
        found = self.leaf(name)
        return default if found is None or found.raw is None else found.raw

    def leaf(self, name: str) -> FieldNode | None:
        return next((leaf for leaf in self.leaves if leaf.name == name), None)

    def value(self, name: str) -> str:
        found = self.leaf(name)
        return found.value if found else ""

    def each(self, name: str, depth: int = 0) -> list[Any]:
        return [it.raw for it in self.leaves if it.name == name and it.depth >= depth]

    def partitions(self, *names: str) -> Iterator[tuple[str, list[Any]]]:
        """Each partition, with the values of these fields after its number."""
        topic, place, values = "", "", list[Any]()
        for leaf in self.leaves:
            if leaf.name in TOPICS and leaf.depth:
                topic = leaf.raw or ""
            elif leaf.name in PARTITIONS and leaf.depth:
                if place:
                    yield place, values
                place, values = f"{topic}-{leaf.raw}", []
            elif leaf.name in names and place:
                values.append(leaf.raw)
            elif leaf.name in NUMBERS and isinstance(leaf.raw, tuple):
                yield from ((f"{topic}-{number}", []) for number in leaf.raw)
        if place:
            yield place, values


def _listed(found: list[str]) -> list[str]:
    rest = len(found) - NAMED
    return [", ".join(found[:NAMED]) + (f" +{rest}" if rest > 0 else "")] if found else []


def _place(row: dict[str, Any]) -> str:
    return f"{row['topic']}-{row['partition']}"


def _rows(it: Exchange) -> list[dict[str, Any]]:
    return list(it.facts.get("partitions", ()))


# -- requests ----------------------------------------------------------------------------------


def _facts(it: Exchange) -> str:
    return " · ".join(_listed([_place(row) for row in _rows(it)]))


def _anything(it: Exchange, fields: Fields) -> str:
    group = fields.first("group_id")
    places = [place for place, _ in fields.partitions()]
    topics = [name for name in fields.each("name", 1) + fields.each("topic", 1) if name]
    return " · ".join([*([group] if group else []), *_listed(places or list(topics))])


def _topics(it: Exchange, fields: Fields) -> str:
    """A topic's settings have names as well, further in."""
    names = [it.raw for it in fields.leaves if it.name == "name" and it.depth == 1]
    return " · ".join(_listed([name for name in names if name]))


def _produce(it: Exchange, fields: Fields) -> str:
    places = [place for place, _ in fields.partitions()] or [_place(row) for row in _rows(it)]
    counts = [int(leaf.value) for leaf in fields.leaves if leaf.name == "count"]
    size = sum(row["bytes"] for row in _rows(it))
    what = count(sum(counts), "record") if counts else count(size, "byte")
    acks = [f"acks {fields.first('acks')}"] if fields.leaves else []
    id = fields.first("transactional_id")
    epoch = fields.value("producer epoch")  # of the first batch, if its header was kept
    whose = [id, *([f"epoch {epoch}"] if epoch else [])] if id else []
    return " · ".join([*whose, *_listed(places), what, *acks])


def _fetch(it: Exchange, fields: Fields) -> str:
    wanted = [f"{_place(row)} @ {row['offset']}" for row in _rows(it) if "offset" in row]
    level = ["read_committed"] if fields.first("isolation_level", 0) else []
    return " · ".join([*(_listed(wanted) or ["as its session knows"]), *level])


def _metadata(it: Exchange, fields: Fields) -> str:
    if fields.value("topics") == "null":
        return "every topic"
    names = [name for name in fields.each("name", 1) if name]
    return " · ".join(_listed(names)) or "the brokers"


def _join(it: Exchange, fields: Fields) -> str:
    who = "known by its id" if fields.first("member_id") else "a new member"
    return f"{fields.first('group_id')} · {who}"


def _generation(it: Exchange, fields: Fields) -> str:
    shares = [f"shares for {len(found)}"] if (found := fields.each("assignment", 1)) else []
    words = [fields.first("group_id"), f"generation {fields.first('generation_id')}", *shares]
    return " · ".join(words)


def _commit(it: Exchange, fields: Fields) -> str:
    found = [f"{place} → {values[0]}" for place, values in fields.partitions("committed_offset")]
    return " · ".join([fields.first("group_id"), *_listed(found)])


def _transaction(it: Exchange, fields: Fields) -> str:
    group = [f"offsets of {fields.first('group_id')}"] if fields.leaf("group_id") else []
    places = _listed([place for place, _ in fields.partitions()])
    return " · ".join([*_producer(fields), *group, *places])


def _producer(fields: Fields) -> list[str]:
    """The transactional id, and the epoch of the producer that asks."""
    return [fields.first("transactional_id"), f"epoch {fields.first('producer_epoch')}"]


def _commit_in(it: Exchange, fields: Fields) -> str:
    return " · ".join([*_producer(fields), _commit(it, fields)])


def _end(it: Exchange, fields: Fields) -> str:
    return " · ".join([*_producer(fields), _decided(fields.first("committed"))])


def _markers(it: Exchange, fields: Fields) -> str:
    """The request has no transactional id: the events of coordinators have it."""
    producer, epoch = fields.first("producer_id"), fields.first("producer_epoch")
    whose = it.ids.get(producer, f"producer {producer}")
    places = _listed([place for place, _ in fields.partitions()])
    result = _decided(fields.first("transaction_result"))
    return " · ".join([result, whose, f"epoch {epoch}", *places])


def _decided(committed: bool) -> str:
    return "commit" if committed else "abort"


def _looked_up(it: Exchange, fields: Fields) -> str:
    found = [
        f"{place} {SPECIAL.get(values[0], 'at a time')}"
        for place, values in fields.partitions("timestamp")
    ]
    return " · ".join(_listed(found))


def _coordinator(it: Exchange, fields: Fields) -> str:
    kind = "transactional id " if fields.first("key_type") == TRANSACTIONS else ""
    keys = fields.first("key") or fields.value("coordinator_keys")  # since version 4 several
    return f"of {kind}{keys}"


def _versions(it: Exchange, fields: Fields) -> str:
    names = "client_software_name", "client_software_version"
    return " ".join(fields.first(name) for name in names if fields.first(name))


def _leaders(it: Exchange, fields: Fields) -> str:
    found = [
        f"{_place(row)} leader {row['leader']}" if "leader" in row else _place(row)
        for row in _rows(it)
    ]
    more = it.facts.get("more", 0)
    return " · ".join(_listed(found) + ([f"and {more} more"] if more else [])) or "the brokers"


def _identity(it: Exchange, fields: Fields) -> str:
    id, epoch = fields.first("transactional_id"), fields.first("producer_epoch", -1)
    if not id:
        return "to be idempotent"
    return f"{id} · after epoch {epoch}" if epoch >= 0 else f"{id} · a new epoch"


ASKS: dict[ApiKey, Callable[[Exchange, Fields], str]] = {
    Api.PRODUCE: _produce,
    Api.FETCH: _fetch,
    Api.LIST_OFFSETS: _looked_up,
    Api.METADATA: _metadata,
    Api.LEADER_AND_ISR: _leaders,
    Api.STOP_REPLICA: _leaders,
    Api.UPDATE_METADATA: _leaders,
    Api.OFFSET_COMMIT: _commit,
    Api.CREATE_TOPICS: _topics,
    Api.FIND_COORDINATOR: _coordinator,
    Api.JOIN_GROUP: _join,
    Api.HEARTBEAT: _generation,
    Api.SYNC_GROUP: _generation,
    Api.API_VERSIONS: _versions,
    Api.INIT_PRODUCER_ID: _identity,
    Api.ADD_PARTITIONS_TO_TXN: _transaction,
    Api.ADD_OFFSETS_TO_TXN: _transaction,
    Api.TXN_OFFSET_COMMIT: _commit_in,
    Api.END_TXN: _end,
    Api.WRITE_TXN_MARKERS: _markers,
}
FROM_FACTS = frozenset(
    {Api.PRODUCE, Api.FETCH, Api.LEADER_AND_ISR, Api.STOP_REPLICA, Api.UPDATE_METADATA}
)


# -- answers -----------------------------------------------------------------------------------


def _produced(it: Exchange, fields: Fields) -> str:
    found = [f"{_place(row)} offset {row['offset']}" for row in _rows(it)]
    return " · ".join(_listed(found))


def _fetched(it: Exchange, fields: Fields) -> str:
    found = [
        f"{_place(row)}: {count(row['bytes'], 'byte')}, HW {row['high_watermark']}"
        for row in _rows(it)
        if row.get("bytes")
    ]
    return " · ".join([*(_listed(found) or ["nothing new"]), *_uncommitted(fields)])


def _uncommitted(fields: Fields) -> list[str]:
    """Where read_committed has to wait, and which transactions it skips."""
    held = [
        f"{place} LSO {values[1]}"
        for place, values in fields.partitions("high_watermark", "last_stable_offset")
        if len(values) == 2 and 0 <= values[1] < values[0]
    ]
    aborted = zip(fields.each("producer_id"), fields.each("first_offset"), strict=True)
    skipped = [f"producer {producer} from {offset}" for producer, offset in aborted]
    return [*_listed(held), *(f"skip {words}" for words in _listed(skipped))]


def _described(it: Exchange, fields: Fields) -> str:
    brokers, topics = fields.value("brokers"), fields.value("topics")
    return " · ".join(count(int(it or 0), noun) for it, noun in
                      ((brokers, "broker"), (topics, "topic")))  # fmt: skip


def _found(it: Exchange, fields: Fields) -> str:
    return f"broker {fields.first('node_id')}"


def _joined(it: Exchange, fields: Fields) -> str:
    leads = fields.first("leader") == fields.first("member_id")
    role = f"leader of {len(fields.each('member_id')) - 1}" if leads else "a member"
    words = [f"generation {fields.first('generation_id')}", fields.first("protocol_name"), role]
    return " · ".join(word for word in words if word)


def _shared(it: Exchange, fields: Fields) -> str:
    return fields.value("assignment")


def _offsets(name: str) -> Callable[[Exchange, Fields], str]:
    def tell(it: Exchange, fields: Fields) -> str:
        found = [
            f"{place} @ {values[0]}" if values and values[0] >= 0 else f"{place}: none"
            for place, values in fields.partitions(name)
        ]
        return " · ".join(_listed(found)) or "none"

    return tell


def _numbered(it: Exchange, fields: Fields) -> str:
    return f"producer {fields.first('producer_id')} · epoch {fields.first('producer_epoch')}"


def _served(it: Exchange, fields: Fields) -> str:
    return count(len(fields.each("api_key")), "API")


ANSWERS: dict[ApiKey, Callable[[Exchange, Fields], str]] = {
    Api.PRODUCE: _produced,
    Api.FETCH: _fetched,
    Api.METADATA: _described,
    Api.FIND_COORDINATOR: _found,
    Api.JOIN_GROUP: _joined,
    Api.SYNC_GROUP: _shared,
    Api.LIST_OFFSETS: _offsets("offset"),
    Api.OFFSET_FETCH: _offsets("committed_offset"),
    Api.OFFSET_FOR_LEADER_EPOCH: _offsets("end_offset"),
    Api.INIT_PRODUCER_ID: _numbered,
    Api.END_TXN: lambda it, fields: "decided",
    Api.WRITE_TXN_MARKERS: lambda it, fields: "written",
    Api.API_VERSIONS: _served,
}
