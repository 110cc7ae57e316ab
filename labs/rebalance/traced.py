"""The requests that the brokers serve, as they report them; and a few that are sent by hand.

with Traced(cluster) as traced:
    ...
traced.of(Api.JOIN_GROUP)                 who asked whom, what, and what was answered
coordinator(cluster, "billing")           the broker that a broker names
commit_by_hand(cluster, 2, "billing", "orders", 7)
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace as Body
from typing import Any, NamedTuple, Self

from lab import until

from engine import Cluster
from engine.assignors.protocol import decode_assignment
from engine.broker.frames import frame
from engine.cluster import single_requests
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.recording import Recording
from engine.errors import ErrorCode
from engine.wire.apis import Api, ApiKey
from engine.wire.codec import decode_request, decode_response
from engine.wire.frame import SIZE
from engine.wire.kraft_apis import BY_NAME, EVERY_API
from rebalance.stand import last_event
from widgets.group.history import name_of

EVERY = 0.1  # seconds between two collections
PASSING = {ErrorCode.coordinator_not_available, ErrorCode.coordinator_load_in_progress}
NOBODY = -1


class ServedRequest(NamedTuple):
    """A request that a broker has answered."""

    at: int
    broker: int
    client: str
    api: ApiKey
    rows: list[dict[str, Any]]  # of a Fetch: its partitions
    request: Any  # decoded, where the bytes were kept
    response: Any


class Traced:
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

    def of(self, *apis: ApiKey, client: str = "") -> list[ServedRequest]:
        """Those of these APIs, in the order of their answers."""
        return [it for it in self.requests if it.api in apis and client in ("", it.client)]

    def fetched(self, client: str) -> set[tuple[int, int]]:
        """Each partition that a client has fetched, and from which broker."""
        asked = self.of(Api.FETCH, client=client)
        return {(row["partition"], it.broker) for it in asked for row in it.rows}

    def wait(self, what: str, enough: Callable[[Self], object]) -> None:
        """Until what was traced so far is enough."""

        def look() -> object:
            self.requests = self._all()
            return enough(self)

        until(what, look)

    def _collect(self) -> None:
        while not self._ends.wait(EVERY):
            self.cluster.events(self._after)

    def _all(self) -> list[ServedRequest]:
        """In the order of time, whichever broker was asked first."""
        events = self.cluster.events(self._after)
        found = [_served(each) for each in events if each.kind == "request"]
        return sorted(found, key=lambda it: it.at)


def _served(event: ClusterEvent) -> ServedRequest:
    facts = event.data
    request, response = None, None
    asked, answered = frame(facts, "asked"), frame(facts, "answered")
    api = BY_NAME[facts["api"]]
    if asked and answered and api not in (Api.FETCH, Api.PRODUCE):
        header, request = decode_request(asked[SIZE.size :], EVERY_API, EVERY_API)
        response = decode_response(header, answered[SIZE.size :], EVERY_API)
    return ServedRequest(
        event.at,
        event.broker or 0,
        facts["client"] or "",
        api,
        facts.get("partitions", []),
        request,
        response,
    )


def who(rows: Iterable[Any]) -> str:
    """The members that these rows of a request or a response are about."""
    return " ".join(sorted(name_of(each.member_id) for each in rows))


def shares_in(sync: ServedRequest) -> str:
    """The partitions that a response to SyncGroup has brought."""
    found = decode_assignment(sync.response.assignment).partitions
    return " ".join(str(each.partition) for each in found)


@contextmanager
def recorded(cluster: Cluster) -> Iterator[Body]:
    """Afterwards its `recording` has all that was said in the meantime."""
    film, before = Body(), last_event(cluster)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "recording.jsonl"
        with cluster.record(path):
            yield film
        loaded = Recording.load(path)
        film.recording = Recording(list(loaded), loaded.events(before))


# -- by hand -----------------------------------------------------------------------------------


def coordinator(cluster: Cluster, group: str, asked: int = 0) -> int:
    """The broker that coordinates a group, as a broker says once there is one."""
    request = Body(key=group, key_type=0)
    broker = asked or cluster.brokers[0]

    def found() -> Any:
        answer = single_requests.ask(cluster, broker, Api.FIND_COORDINATOR, request)
        return None if answer.error_code in PASSING else answer

    return int(until(f"a coordinator for {group}", found).node_id)


def commit_by_hand(
    cluster: Cluster,
    broker: int,
    group: str,
    topic: str,
    offset: int,
    member: tuple[str, int] = ("", NOBODY),
) -> str:
    """What this broker says to a commit for partition 0; `member`: its id, and a generation."""
    row = Body(
        partition_index=0, committed_offset=offset, committed_leader_epoch=-1, committed_metadata=""
    )
    request = Body(
        group_id=group,
        generation_id=member[1],
        member_id=member[0],
        group_instance_id=None,
        topics=(Body(name=topic, partitions=(row,)),),
    )
    answer = single_requests.ask(cluster, broker, Api.OFFSET_COMMIT, request)
    return ErrorCode(answer.topics[0].partitions[0].error_code).name
