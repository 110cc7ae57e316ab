"""Which operation on which resource each request needs, as in Kafka 2.8.

    request  ──> all of it    needs READ on the group g        no: the response is an error
             ──> each row     needs READ on its topic          no: an error in its place
             ──> the rest goes to the handler, which knows nothing of this

One table, GUARDS, has what each request needs. Only Fetch is checked while it reads
(handlers/fetch.py): its session outlives the request. ApiVersions and SASL need nothing.

Metadata and ListGroups show only what the client may describe: a topic that it may not see looks
absent. Where a request asks for the operations that the client may do, they are filled in here.

Invariant: every request that is served is in the table.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from engine.broker.call import Call, Handler
from engine.broker.events import Ring
from engine.broker.metadata import Metadata
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.security.acls import (
    CLUSTER,
    SUPPORTED,
    AclOperation,
    AclResource,
    AclResourceType,
    bits,
)
from engine.security.authorizer import AclAuthorizer
from engine.wire.apis import Api, ApiKey
from engine.wire.errors import Malformed
from engine.wire.kraft_apis import KRaftApi
from engine.wire.refusal import refusal, refused_rows

log = logging.getLogger("kafka.authorizer.logger")

TOPIC, GROUP = AclResourceType.TOPIC, AclResourceType.GROUP

FAILED: dict[AclResourceType, ErrorCode] = {
    AclResourceType.TOPIC: ErrorCode.topic_authorization_failed,
    AclResourceType.GROUP: ErrorCode.group_authorization_failed,
    AclResourceType.CLUSTER: ErrorCode.cluster_authorization_failed,
    AclResourceType.TRANSACTIONAL_ID: ErrorCode.transactional_id_authorization_failed,
    AclResourceType.DELEGATION_TOKEN: ErrorCode.delegation_token_authorization_failed,
}
TEXTS: dict[Api, str] = {  # Kafka's own, where it has one
    Api.CREATE_TOPICS: "Authorization failed.",
    Api.CREATE_PARTITIONS: "The topic authorization is failed.",
}
GROUP_ERROR_SINCE = 2  # the version of OffsetFetch
SESSION_ERRORS = {ErrorCode.fetch_session_id_not_found, ErrorCode.invalid_fetch_session_epoch}
NOT_ASKED = -(2**31)  # operations that were not requested
TOPIC_CONFIG = 2  # a type in requests about configurations


class Access:
    """What one client may do."""

    def __init__(self, auth: "AuthHelper", authorizer: AclAuthorizer, call: Call) -> None:
        self.metadata = auth.metadata
        self._auth = auth
        self.api = call.api
        self._authorizer = authorizer
        self._client = str(call.principal), call.host.removeprefix("/")

    def allows(
        self, operation: AclOperation, resource: AclResource, *, quiet: bool = False
    ) -> bool:
        """With `quiet`, a denial is not reported: it only decides what is shown."""
        if self._authorizer.allowed(*self._client, operation, resource):
            return True
        if not quiet:
            self._report(operation, resource)
        return False

    def allows_on_any(self, operation: AclOperation, kind: AclResourceType) -> bool:
        return self._authorizer.allowed_on_any(*self._client, operation, kind)

    def error(self, resource: AclResource) -> ApiException:
        return ApiException(FAILED[resource.type], TEXTS.get(self.api, ""))

    def operations(self, resource: AclResource) -> int:
        """A bit for each operation that is allowed."""
        on = SUPPORTED[resource.type]
        return bits([each for each in on if self.allows(each, resource, quiet=True)])

    def _report(self, operation: AclOperation, resource: AclResource) -> None:
        principal, host = self._client
        facts = {
            "principal": principal,
            "host": host,
            "operation": operation.title,
            "resource_type": resource.type.title,
            "resource": resource.name,
            "api": self.api.name,
        }
        log.info(
            "Principal = %(principal)s is Denied Operation = %(operation)s from host = %(host)s "
            "on resource = %(resource_type)s:LITERAL:%(resource)s for request = %(api)s",
            facts,
        )
        self._auth.events.append(Event("authorization.denied", self._auth.now(), facts))


# -- what a request needs ----------------------------------------------------------------------

Needs = Callable[[Any], Iterable[tuple[AclOperation, AclResource]]]
Change = Callable[[Access, Any, Any], Any]  # (access, request, response) -> response


def _topic(metadata: Metadata, row: Any) -> AclResource | None:
    """The topic that a row names; None if its id is no topic's, which the handler refuses."""
    if isinstance(row, str):
        return AclResource(TOPIC, row)
    name = getattr(row, "name", None) or getattr(row, "topic", None)
    id = getattr(row, "topic_id", None)
    if name is None and id is not None:
        name = metadata.topic_names.get(id)
        return None if name is None else AclResource(TOPIC, name)
    return AclResource(TOPIC, name or "")


def _group(metadata: Metadata, row: Any) -> AclResource:
    return AclResource(GROUP, row)


def _transaction(metadata: Metadata, row: Any) -> AclResource:
    return AclResource(AclResourceType.TRANSACTIONAL_ID, row)


def _configured(metadata: Metadata, row: Any) -> AclResource:
    """A topic, or the cluster: a broker, or its loggers."""
    if row.resource_type == TOPIC_CONFIG:
        return AclResource(TOPIC, row.resource_name)
    return CLUSTER


class GuardedRows(NamedTuple):
    """A list in the request, of which each row needs an operation on a resource of its own."""

    operation: AclOperation
    request: str = "topics"  # the field with the rows
    response: str = "topics"  # the field of the response that has a row for each of them
    resource: Callable[[Metadata, Any], AclResource | None] = _topic
    unless: AclOperation | None = None  # if this is allowed on the cluster, no row is checked
    quiet: bool = False


class Guard(NamedTuple):
    needs: Needs = lambda request: ()
    rows: GuardedRows | None = None
    shown: Change = lambda access, request, response: response


def on_cluster(operation: AclOperation) -> Needs:
    return lambda request: [(operation, CLUSTER)]


def on_group(operation: AclOperation) -> Needs:
    return lambda request: [(operation, AclResource(GROUP, request.group_id))]


def on_transaction(operation: AclOperation, field: str = "transactional_id") -> Needs:
    def needs(request: Any) -> Iterator[tuple[AclOperation, AclResource]]:
        name = getattr(request, field)
        if name is not None:
            yield operation, AclResource(AclResourceType.TRANSACTIONAL_ID, name)

    return needs


def both(*needs: Needs) -> Needs:
    return lambda request: [need for each in needs for need in each(request)]


def _coordinator(request: Any) -> Iterable[tuple[AclOperation, AclResource]]:
    kinds = {0: GROUP, 1: AclResourceType.TRANSACTIONAL_ID}
    if request.key_type in kinds:  # the handler refuses another one
        yield DESCRIBE, AclResource(kinds[request.key_type], request.key)


# -- what a response shows ---------------------------------------------------------------------


def _metadata(access: Access, request: Any, response: Any) -> Any:
    """All topics: those that the client may describe. And the operations, if they are wanted."""
    topics = response.topics if request.topics else _visible(access, response.topics)
    shown = tuple(
        _with_operations(access, each, "topic_authorized_operations", AclResource(TOPIC, each.name))
        for each in topics
    )
    return _cluster_operations(access, request, replace(response, topics=shown))


def _visible(
    access: Access, rows: Iterable[Any], kind: AclResourceType = TOPIC, name: str = "name"
) -> tuple[Any, ...]:
    """The rows that the client may describe."""
    return tuple(
        each
        for each in rows
        if access.allows(DESCRIBE, AclResource(kind, getattr(each, name)), quiet=True)
    )


def _with_operations(access: Access, row: Any, field: str, resource: AclResource) -> Any:
    if getattr(row, field) == NOT_ASKED:
        return row
    return replace(row, **{field: access.operations(resource)})


def _cluster_operations(access: Access, request: Any, response: Any) -> Any:
    if response.cluster_authorized_operations == NOT_ASKED:
        return response
    known = access.allows(DESCRIBE, CLUSTER)
    return replace(
        response, cluster_authorized_operations=access.operations(CLUSTER) if known else 0
    )


def _groups(access: Access, request: Any, response: Any) -> Any:
    """With the operations, if they are wanted. A group with an error has none."""
    groups = (
        _with_operations(access, it, "authorized_operations", AclResource(GROUP, it.group_id))
        for it in response.groups
    )
    return replace(response, groups=tuple(groups))


def _listed_groups(access: Access, request: Any, response: Any) -> Any:
    if access.allows(DESCRIBE, CLUSTER, quiet=True):
        return response
    visible = _visible(access, response.groups, GROUP, "group_id")
    return replace(response, groups=visible)


def _offsets(access: Access, request: Any, response: Any) -> Any:
    """All offsets of a group: those of topics that the client may describe."""
    if request.topics is not None:
        return response
    return replace(response, topics=_visible(access, response.topics))


def _listed_transactions(access: Access, request: Any, response: Any) -> Any:
    ids = AclResourceType.TRANSACTIONAL_ID, "transactional_id"
    return replace(response, transaction_states=_visible(access, response.transaction_states, *ids))


def _transactions(access: Access, request: Any, response: Any) -> Any:
    """Described transactions, with the partitions of topics that the client may describe."""
    states = (
        replace(each, topics=_visible(access, each.topics, name="topic"))
        for each in response.transaction_states
    )
    return replace(response, transaction_states=tuple(states))


def _created(access: Access, request: Any, response: Any) -> Any:
    """The configuration of a new topic, for those who may describe it."""
    return replace(response, topics=tuple(_created_topic(access, it) for it in response.topics))


def _created_topic(access: Access, topic: Any) -> Any:
    resource = AclResource(TOPIC, topic.name)
    failed = topic.error_code != ErrorCode.none
    if failed or access.allows(DESCRIBE_CONFIGS, resource, quiet=True):
        return topic
    return replace(
        topic,
        topic_config_error_code=ErrorCode.topic_authorization_failed,
        num_partitions=-1,
        replication_factor=-1,
        configs=(),
    )


# -- the table ---------------------------------------------------------------------------------

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = (AclOperation(number) for number in range(3, 9))
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS = (AclOperation(number) for number in range(9, 12))

GUARDS: dict[ApiKey, Guard] = {
    **{api: Guard(on_cluster(CLUSTER_ACTION)) for api in Api if api.between_brokers},
    Api.PRODUCE: Guard(on_transaction(WRITE), GuardedRows(WRITE, "topic_data", "responses")),
    Api.FETCH: Guard(),
    Api.LIST_OFFSETS: Guard(rows=GuardedRows(DESCRIBE)),
    Api.METADATA: Guard(rows=GuardedRows(DESCRIBE, quiet=True), shown=_metadata),
    Api.OFFSET_COMMIT: Guard(on_group(READ), GuardedRows(READ)),
    Api.OFFSET_FETCH: Guard(on_group(DESCRIBE), GuardedRows(DESCRIBE), _offsets),
    Api.FIND_COORDINATOR: Guard(_coordinator),
    Api.JOIN_GROUP: Guard(on_group(READ)),
    Api.HEARTBEAT: Guard(on_group(READ)),
    Api.LEAVE_GROUP: Guard(on_group(READ)),
    Api.SYNC_GROUP: Guard(on_group(READ)),
    Api.DESCRIBE_GROUPS: Guard(
        rows=GuardedRows(DESCRIBE, "groups", "groups", _group), shown=_groups
    ),
    Api.LIST_GROUPS: Guard(shown=_listed_groups),
    Api.SASL_HANDSHAKE: Guard(),
    Api.API_VERSIONS: Guard(),
    Api.CREATE_TOPICS: Guard(rows=GuardedRows(CREATE, unless=CREATE), shown=_created),
    Api.DELETE_TOPICS: Guard(rows=GuardedRows(DELETE, "topics", "responses")),
    Api.DELETE_RECORDS: Guard(rows=GuardedRows(DELETE)),
    Api.INIT_PRODUCER_ID: Guard(on_transaction(WRITE)),
    Api.OFFSET_FOR_LEADER_EPOCH: Guard(rows=GuardedRows(DESCRIBE, unless=CLUSTER_ACTION)),
    Api.ADD_PARTITIONS_TO_TXN: Guard(
        on_transaction(WRITE), GuardedRows(WRITE, "topics", "results")
    ),
    Api.ADD_OFFSETS_TO_TXN: Guard(both(on_transaction(WRITE), on_group(READ))),
    Api.END_TXN: Guard(on_transaction(WRITE)),
    Api.TXN_OFFSET_COMMIT: Guard(both(on_transaction(WRITE), on_group(READ)), GuardedRows(READ)),
    Api.DESCRIBE_ACLS: Guard(on_cluster(DESCRIBE)),
    Api.CREATE_ACLS: Guard(on_cluster(ALTER)),
    Api.DELETE_ACLS: Guard(on_cluster(ALTER)),
    Api.DESCRIBE_CONFIGS: Guard(
        rows=GuardedRows(DESCRIBE_CONFIGS, "resources", "results", _configured)
    ),
    Api.ALTER_CONFIGS: Guard(
        rows=GuardedRows(ALTER_CONFIGS, "resources", "responses", _configured)
    ),
    Api.ALTER_REPLICA_LOG_DIRS: Guard(on_cluster(ALTER)),
    Api.DESCRIBE_LOG_DIRS: Guard(on_cluster(DESCRIBE)),
    Api.SASL_AUTHENTICATE: Guard(),
    Api.CREATE_PARTITIONS: Guard(rows=GuardedRows(ALTER, "topics", "results")),
    Api.CREATE_DELEGATION_TOKEN: Guard(),
    Api.RENEW_DELEGATION_TOKEN: Guard(),
    Api.EXPIRE_DELEGATION_TOKEN: Guard(),
    Api.DESCRIBE_DELEGATION_TOKEN: Guard(),
    Api.DELETE_GROUPS: Guard(rows=GuardedRows(DELETE, "groups_names", "results", _group)),
    Api.ELECT_LEADERS: Guard(on_cluster(ALTER)),
    Api.INCREMENTAL_ALTER_CONFIGS: Guard(
        rows=GuardedRows(ALTER_CONFIGS, "resources", "responses", _configured)
    ),
    Api.ALTER_PARTITION_REASSIGNMENTS: Guard(on_cluster(ALTER)),
    Api.LIST_PARTITION_REASSIGNMENTS: Guard(on_cluster(DESCRIBE)),
    Api.OFFSET_DELETE: Guard(on_group(DELETE), GuardedRows(READ)),
    Api.DESCRIBE_CLIENT_QUOTAS: Guard(on_cluster(DESCRIBE_CONFIGS)),
    Api.ALTER_CLIENT_QUOTAS: Guard(on_cluster(ALTER_CONFIGS)),
    Api.DESCRIBE_USER_SCRAM_CREDENTIALS: Guard(on_cluster(DESCRIBE)),
    Api.ALTER_USER_SCRAM_CREDENTIALS: Guard(on_cluster(ALTER)),
    Api.UPDATE_FEATURES: Guard(on_cluster(ALTER)),
    KRaftApi.DESCRIBE_QUORUM: Guard(on_cluster(DESCRIBE)),
    KRaftApi.UNREGISTER_BROKER: Guard(on_cluster(ALTER)),
    KRaftApi.DESCRIBE_TRANSACTIONS: Guard(
        rows=GuardedRows(DESCRIBE, "transactional_ids", "transaction_states", _transaction),
        shown=_transactions,
    ),
    KRaftApi.LIST_TRANSACTIONS: Guard(shown=_listed_transactions),
    Api.DESCRIBE_CLUSTER: Guard(shown=_cluster_operations),
    Api.DESCRIBE_PRODUCERS: Guard(rows=GuardedRows(READ)),
}


# Without ZooKeeper, who may delete the cluster may delete each topic.
KRAFT_GUARDS = GUARDS | {
    Api.DELETE_TOPICS: Guard(rows=GuardedRows(DELETE, "topics", "responses", unless=DELETE))
}

# Two requests have the names of their results in more than one list.
NAMED_BELOW: dict[Api, Callable[[Any], Iterable[Any]]] = {
    Api.ALTER_REPLICA_LOG_DIRS: lambda request: (
        topic for each in request.dirs for topic in each.topics
    ),
    Api.ALTER_USER_SCRAM_CREDENTIALS: lambda request: (
        each.name for each in (*request.deletions, *request.upsertions)
    ),
}

# -- one request -------------------------------------------------------------------------------


@dataclass(frozen=True)
class AuthHelper:
    authorizer: AclAuthorizer | None  # None: everything is allowed
    metadata: Metadata
    events: Ring
    now: Callable[[], int]
    auto_creates: bool = False  # Metadata creates a topic that there is not yet
    guards: Mapping[ApiKey, Guard] = field(default_factory=lambda: GUARDS)

    def check_fetch(self, call: Call, replica_id: int, partition: TopicPartition) -> None:
        """A follower needs ClusterAction on the cluster, a consumer Read on the topic."""
        if self.authorizer is not None:
            topic = AclResource(TOPIC, partition.topic)
            need = (CLUSTER_ACTION, CLUSTER) if replica_id >= 0 else (READ, topic)
            access = Access(self, self.authorizer, call)
            if not access.allows(*need):
                raise access.error(topic)

    def may_follow(self, call: Call, replica_id: int) -> bool:
        """Whether the client is a consumer, or a follower that may be one. `check_fetch` reports a
        denial."""
        if self.authorizer is None or replica_id < 0:
            return True
        access = Access(self, self.authorizer, call)
        return access.allows(CLUSTER_ACTION, CLUSTER, quiet=True)

    def guarded(self, handler: Handler) -> Handler:
        """The handler behind the table; without an authorizer, the handler itself."""
        if self.authorizer is None:
            return handler
        return partial(self._authorized, self.authorizer, handler)

    async def _authorized(
        self, authorizer: AclAuthorizer, handler: Handler, call: Call, request: Any
    ) -> Any:
        """The response to what the client may do, with an error for what it may not."""
        access = Access(self, authorizer, call)
        guard = self.guards[access.api]
        for operation, resource in guard.needs(request):
            if not access.allows(operation, resource):
                return refused(call, request, access.error(resource))
        if access.api == Api.INIT_PRODUCER_ID and not _may_be_idempotent(access, request):
            return refused(call, request, access.error(CLUSTER))
        rows = guard.rows
        listed = "topic_names" if hasattr(request, "topic_names") else rows.request if rows else ""
        given = getattr(request, listed, ())  # DeleteTopics had names only, before version 6
        if rows is None or not given:
            return guard.shown(access, request, await handler(call, request))
        creates = self.auto_creates and getattr(request, "allow_auto_topic_creation", False)
        permitted, errors = _split(access, rows, given, creates)
        if errors and access.api == Api.ADD_PARTITIONS_TO_TXN:  # all of them or none
            error = ApiException(ErrorCode.operation_not_attempted)
            errors += [(row, error) for row in permitted]
            permitted = []
        denied = tuple(
            row
            for it, error in errors
            for row in refused_rows(access.api, rows.response, [it], error)
        )
        if permitted or access.api == Api.METADATA:  # which has the brokers, too
            kept = replace(request, **{listed: tuple(permitted)})
            response = guard.shown(access, request, await handler(call, kept))
        else:
            response = refusal(access.api, request, ApiException(ErrorCode.none))
        if denied and access.api == Api.PRODUCE and request.acks == 0:
            raise Malformed(f"acks=0 allows no response to: {errors[0][1]}")
        if not denied:
            return response
        served = getattr(response, rows.response) if permitted else ()
        return replace(response, **{rows.response: (*served, *denied)})


def _split(
    access: Access, rows: GuardedRows, given: Iterable[Any], creates: bool
) -> tuple[list[Any], list[tuple[Any, ApiException]]]:
    """The rows that are allowed, and the others, each with its error."""
    if rows.unless is not None and access.allows(rows.unless, CLUSTER, quiet=True):
        return list(given), []
    permitted, errors = list[Any](), list[tuple[Any, ApiException]]()
    for row in given:
        resource = rows.resource(access.metadata, row)
        if resource is None:
            permitted.append(row)
            continue
        allowed = access.allows(rows.operation, resource, quiet=rows.quiet)
        if allowed and (not creates or _may_create(access, row)):
            permitted.append(row)
        else:
            errors.append((row, access.error(resource)))
    return permitted, errors


def _may_create(access: Access, row: Any) -> bool:
    """Metadata creates a topic that there is not yet, for those who may create it."""
    if row.name in access.metadata.topics:
        return True
    if access.allows(CREATE, CLUSTER, quiet=True):
        return True
    return access.allows(CREATE, AclResource(TOPIC, row.name or ""))


def _may_be_idempotent(access: Access, request: Any) -> bool:
    """Without a transactional id: IdempotentWrite on the cluster, or Write on any topic."""
    return (
        request.transactional_id is not None
        or access.allows(AclOperation.IDEMPOTENT_WRITE, CLUSTER, quiet=True)
        or access.allows_on_any(WRITE, TOPIC)
    )


def refused(call: Call, request: Any, error: ApiException) -> Any:
    """The response to a request of which nothing is served, with the error where Kafka puts it."""
    api = call.api
    if api == Api.PRODUCE and request.acks == 0:
        raise Malformed(f"acks=0 allows no response to: {error}")
    response = refusal(api, request, error)
    if api == Api.FETCH and error.code not in SESSION_ERRORS and request.session_epoch <= 0:
        return replace(response, error_code=ErrorCode.none)  # each partition has it
    if api in (Api.DESCRIBE_LOG_DIRS, Api.DESCRIBE_USER_SCRAM_CREDENTIALS):
        return replace(response, results=())  # for the first Kafka 2.8 has no error at all
    if names := getattr(request, "topic_names", ()):  # of DeleteTopics before version 6
        return replace(response, responses=refused_rows(api, "responses", names, error))
    if api in NAMED_BELOW:
        rows = dict.fromkeys(NAMED_BELOW[api](request))
        return replace(response, results=refused_rows(api, "results", rows, error))
    if api == Api.LEAVE_GROUP or (api == Api.OFFSET_FETCH and call.version >= GROUP_ERROR_SINCE):
        listed = "members" if api == Api.LEAVE_GROUP else "topics"
        return replace(response, **{listed: ()})  # the error is that of the group
    return response
