"""Versions of Kafka 3 that ask for more than one thing, answered by the handlers of 2.8.

    Metadata 12         topics by their ids           by their names, if the ids are known
    FindCoordinator 4   the coordinators of many      one after the other
    OffsetFetch 8       the offsets of many groups    one after the other

Each request is put down to those that a handler of the last version before takes. So each group
and each topic is authorized as if the client had asked for it alone; the others are served.

Invariant: the handler below gets no version of a request that Kafka 2.8 does not have, and answers
in the shape of that release.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v4 import response as coordinators_v4
from kio.schema.metadata.v12.response import MetadataResponseTopic
from kio.schema.offset_fetch.v7.request import OffsetFetchRequest
from kio.schema.offset_fetch.v8 import response as fetch_v8

from engine.broker.broker import Broker
from engine.broker.call import Call, Handler
from engine.broker.handlers.results import Turns
from engine.broker.metadata import Metadata
from engine.errors import ErrorCode
from engine.wire.apis import APIS, ApiKey
from engine.wire.kraft_apis import KRaftApi
from engine.wire.primitives import NO_THROTTLE


def put_down(broker: Broker, handlers: Mapping[int, Handler]) -> dict[int, Handler]:
    """By API, the handlers of the requests whose newest version asks for more than one thing. Each
    goes in front of the handler that there is."""
    newer = {
        KRaftApi.METADATA: partial(_by_id, broker.metadata),
        KRaftApi.FIND_COORDINATOR: _each_key,
        KRaftApi.OFFSET_FETCH: _each_group,
    }
    return {api: partial(_put_down, api, handlers[api], each) for api, each in newer.items()}


async def _put_down(api: ApiKey, handler: Handler, newer: Any, call: Call, request: Any) -> Any:
    version = min(call.version, APIS[api].newest)
    header = call.header._replace(api_version=version)
    ask = partial(handler, call._replace(header=header, apis=APIS))
    return await (ask(request) if version == call.version else newer(ask, request))


async def _by_id(metadata: Metadata, ask: Any, request: Any) -> Any:
    """Metadata of topics by their ids. Names in the same request are ignored. A topic that the
    client may not see comes back without its name."""
    ids = dict.fromkeys(each.topic_id for each in request.topics or () if each.topic_id)
    if not ids:
        return await ask(request)
    rows = {each.topic_id: each for each in request.topics}
    names = {id: metadata.topic_names[id] for id in ids if id in metadata.topic_names}
    named = tuple(replace(rows[id], name=name, topic_id=None) for id, name in names.items())
    answer = await ask(replace(request, topics=named))
    by_name = {name: id for id, name in names.items()}
    topics = [_unseen(each, by_name[each.name]) for each in answer.topics]
    unknown = (_topic(ErrorCode.unknown_topic_id, id) for id in ids if id not in names)
    return replace(answer, topics=(*unknown, *topics))


def _unseen(row: Any, id: Any) -> Any:
    if row.error_code is ErrorCode.topic_authorization_failed:
        return _topic(row.error_code, id)
    return row


def _topic(code: ErrorCode, id: Any) -> MetadataResponseTopic:
    return MetadataResponseTopic(error_code=code, name=None, topic_id=id, partitions=())


async def _each_key(ask: Any, request: Any) -> coordinators_v4.FindCoordinatorResponse:
    turns, rows = Turns(every=100), []
    for key in request.coordinator_keys:
        await turns.next()
        found = await ask(FindCoordinatorRequest(key=key, key_type=request.key_type))
        node = {"node_id": found.node_id, "host": found.host, "port": found.port}
        coordinator = coordinators_v4.Coordinator(
            key=key, error_code=found.error_code, error_message="", **node
        )
        rows.append(coordinator)
    return coordinators_v4.FindCoordinatorResponse(
        throttle_time=NO_THROTTLE, coordinators=tuple(rows)
    )


async def _each_group(ask: Any, request: Any) -> fetch_v8.OffsetFetchResponse:
    """The offsets of each group. One that is named twice has the topics of its last row, as in
    Kafka."""
    turns, rows = Turns(), []
    for id, group in {each.group_id: each for each in request.groups}.items():
        await turns.next()
        one = OffsetFetchRequest(
            group_id=id, topics=group.topics, require_stable=request.require_stable
        )
        found = await ask(one)
        rows.append(
            fetch_v8.OffsetFetchResponseGroup(
                group_id=id, topics=found.topics, error_code=found.error_code
            )
        )
    return fetch_v8.OffsetFetchResponse(throttle_time=NO_THROTTLE, groups=tuple(rows))
