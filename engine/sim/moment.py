"""What a trace is made of: moments, in which something changed, was told or was sent."""

from typing import NamedTuple

from engine.cluster.state import ClusterState
from engine.cluster.stream import Happened


class Message(NamedTuple):
    source: str
    target: str
    text: str
    routine: bool  # one that comes all the time and brings nothing
    arrives: int  # ms since the start; below 0: never


class Moment(NamedTuple):
    at: int  # ms since the start
    state: ClusterState  # as it was then
    events: tuple[Happened, ...]  # what was told in it
    messages: tuple[Message, ...]  # and sent
