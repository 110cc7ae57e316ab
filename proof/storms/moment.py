"""The parts of a trace: moments with a changed state, events, or messages that were sent."""

from typing import NamedTuple

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState


class TraceMessage(NamedTuple):
    source: str
    target: str
    text: str
    routine: bool  # a periodic message without news
    arrives: int  # ms since the start; below 0: never


class Moment(NamedTuple):
    at: int  # ms since the start
    state: ClusterState
    events: tuple[ClusterEvent, ...]
    messages: tuple[TraceMessage, ...]  # that were sent
