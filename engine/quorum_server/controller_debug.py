"""A controller's debug server for labs: it reports state and events, and takes faults of links.

    DIR/controller.control     PORT TOKEN, readable by its owner only; removed when it stops

    {"ask": "state"}                            ──>
                      <──  {"node": 101, "role": "leader", "epoch": 3, "leader": 101, ...}
    {"ask": "metadata", "topic": "orders"}      what it has of brokers, topics, and one topic
    {"ask": "events", "after": 17, "most": 500}
    {"ask": "links", "heal": true, "change": {"1": {"out_cut": true}}}     by node ids

The connections, and what a request and a response look like: engine/broker/debug/control_server.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from engine.broker.debug.control_server import ControlServer, Requests, change_links, events_after
from engine.broker.events import Ring
from engine.broker.kraft.quorum_node import metadata_facts, quorum_facts
from engine.broker.kraft.replica_progress import QuorumProgress
from engine.links import Links
from engine.metadata.image import MetadataImage
from engine.raft.raft_client import RaftClient

CONTROL_FILE = "controller.control"


class ControllerDebugServer(ControlServer):
    def __init__(
        self,
        home: Path,
        client: RaftClient,
        progress: QuorumProgress,  # of the replicas that fetch from this controller
        links: Links,
        events: Ring,
        now: Callable[[], int],  # ms since 1970
        image: Callable[[], MetadataImage],  # of the committed records
    ) -> None:
        super().__init__(home / CONTROL_FILE, self._asks)
        self._client, self._links, self._events = client, links, events
        self._progress = progress
        self._now, self._image = now, image

    def _asks(self) -> Requests:
        return {
            "state": self._state,
            "metadata": lambda topic=None: metadata_facts(self._image(), topic),
            "events": partial(events_after, self._events),
            "links": partial(change_links, self._links),
        }

    def _state(self) -> Mapping[str, Any]:
        return {
            "node": self._client.identity.node_id,
            "at": self._now(),
            **quorum_facts(self._client, self._image()),
            "observers": self._observers(),
            "events": self._events.total,
            "faults": {name: asdict(link) for name, link in self._links.faults().items()},
        }

    def _observers(self) -> list[tuple[int, int]]:
        """The brokers that fetch from this node, if it leads, and how far each is."""
        epoch, voters = self._client.epoch, self._client.identity.voters
        if not self._client.is_leader:
            return []
        others = self._progress.others(epoch, voters, self._now())
        return [(id, self._progress.of(epoch, id).log_end) for id in others]
