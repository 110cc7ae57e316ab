"""Single requests to a chosen broker, and the requests of others as the brokers saw them.

with line(cluster, 2) as broker:
    broker.ask(Api.FIND_COORDINATOR, find("billing"))

with Caught(cluster) as caught:           brokers tell each request that they serve
    ...
caught.of(Api.JOIN_GROUP)                 who asked whom, what, and what was answered
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace as Message
from typing import Any, NamedTuple, Self

from lab import until

from engine import Cluster
from engine.broker.frames import frame
from engine.client.connection import Address, Connection
from engine.cluster.stream import Happened
from engine.errors import ErrorCode
from engine.wire.apis import Api
from engine.wire.codec import decode_request, decode_response
from engine.wire.frame import SIZE
from rebalance.stand import last_event

EVERY = 0.1  # seconds between two collections
PASSING = {ErrorCode.coordinator_not_available, ErrorCode.coordinator_load_in_progress}


@contextmanager
def line(cluster: Cluster, broker: int) -> Iterator[Connection]:
    """A connection to this broker and no other."""
    address = cluster.bootstrap.split(",")[cluster.brokers.index(broker)]
    with Connection(Address.parse(address)) as connection:
        yield connection


def coordinator(cluster: Cluster, group: str, asked: int = 0) -> int:
    """The broker that coordinates a group, as a broker says."""
    with line(cluster, asked or cluster.brokers[0]) as broker:
        return named(broker, group)


def named(broker: Connection, group: str) -> int:
    """Whom this broker names, once there is somebody."""
    request = Message(key=group, key_type=0)

    def found() -> Any:
        answer = broker.ask(Api.FIND_COORDINATOR, request)
        return None if answer.error_code in PASSING else answer

    return int(until(f"a coordinator for {group}", found).node_id)


def commit(broker: Connection, group: str, topic: str, offset: int) -> ErrorCode:
    """An offset of partition 0, for a group that has no members."""
    broker.send(Api.OFFSET_COMMIT, committing(group, topic, offset))
    return committed(broker)


def committed(broker: Connection) -> ErrorCode:
    """What came of the oldest commit that is under way."""
    return ErrorCode(broker.receive().response.topics[0].partitions[0].error_code)


def committing(group: str, topic: str, offset: int) -> Message:
    row = Message(
        partition_index=0, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=""
    )
    return Message(
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        topics=(Message(name=topic, partitions=(row,)),),
    )


# -- the requests of others ------------------------------------------------------------------


class Asked(NamedTuple):
    """A request that a broker has answered."""

    at: int
    broker: int
    client: str
    api: Api
    rows: list[dict[str, Any]]  # of a Fetch: its partitions
    request: Any  # decoded, where the bytes were kept
    response: Any


class Caught:
    """Collected all the time: a broker has room for a few bytes only, and forgets the oldest."""

    def __init__(self, cluster: Cluster, frames: bool = True) -> None:
        self.cluster, self._frames = cluster, frames
        self._ends = threading.Event()
        self._collector = threading.Thread(target=self._collect, daemon=True)

    def __enter__(self) -> Self:
        self._after = last_event(self.cluster)
        self.cluster.trace(True, frames=self._frames)
        self._collector.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._collector.join()
        self.requests = self._all()
        self.cluster.trace(False)

    def of(self, *apis: Api, client: str = "") -> list[Asked]:
        """Those of these APIs, in the order of their answers."""
        return [it for it in self.requests if it.api in apis and client in ("", it.client)]

    def wait(self, what: str, enough: Callable[[Self], object]) -> None:
        """Until what was caught so far is enough."""

        def look() -> object:
            self.requests = self._all()
            return enough(self)

        until(what, look)

    def _collect(self) -> None:
        while not self._ends.wait(EVERY):
            self.cluster.events(self._after)

    def _all(self) -> list[Asked]:
        """In the order of time, whoever was collected first."""
        events = self.cluster.events(self._after)
        found = [_asked(each) for each in events if each.kind == "request"]
        return sorted(found, key=lambda it: it.at)


def _asked(event: Happened) -> Asked:
    facts = event.data
    request, response = None, None
    asked, answered = frame(facts, "asked"), frame(facts, "answered")
    api = Api[facts["api"]]
    if asked and answered and api not in (Api.FETCH, Api.PRODUCE):
        header, request = decode_request(asked[SIZE.size :], {int(each) for each in Api})
        response = decode_response(header, answered[SIZE.size :])
    return Asked(
        event.at,
        event.broker or 0,
        facts["client"] or "",
        api,
        facts.get("partitions", []),
        request,
        response,
    )
