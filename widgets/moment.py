"""One moment of a run, with all data for its picture: the argument of every layout."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from engine.cluster.state import BrokerState, ClusterState, LinkState, PartitionState, Status
from engine.model import TopicPartition
from widgets.run_source import RunSource
from widgets.story import DEATHS, Story, StoryLine, internal

TRAIL = 280  # ms for which movement is shown


@dataclass(frozen=True)
class ViewMoment:
    run_source: RunSource
    at: int  # ms since 1970
    live: bool  # it is now
    acts: frozenset[str] = frozenset()  # the acts that are possible at this moment
    topic: str = ""  # only this one; "": all of them
    playing: bool = False
    width: float = 1000  # px, of the picture
    height: float = field(default=0, kw_only=True)  # px, if it has to fit into so many

    @cached_property
    def state(self) -> ClusterState:
        return self.run_source.at(self.at)

    @property
    def story(self) -> Story:
        return self.run_source.story

    @cached_property
    def lines(self) -> list[StoryLine]:
        """The story up to now, without events from before the recording."""
        return [line for line in self.story.until(self.at) if line.at >= self.run_source.start]

    @property
    def says(self) -> str:
        """The latest event of a live run, read aloud."""
        return self.lines[-1].words if self.live and self.lines else ""

    @cached_property
    def partitions(self) -> dict[TopicPartition, PartitionState]:
        """Those to be shown one by one: not Kafka's own."""
        return {
            partition: state
            for partition, state in self.state.partitions.items()
            if (partition.topic == self.topic if self.topic else not internal(partition.topic))
        }

    @cached_property
    def topics(self) -> list[str]:
        found = {it.topic for it in self.state.partitions if not internal(it.topic)}
        return sorted(found)

    @cached_property
    def steps(self) -> list[tuple[ClusterState, ClusterState]]:
        """The latest changes, for movement: each state with the one before."""
        states = self.run_source.between(self.at - TRAIL, self.at)
        return list(pairwise(states))

    def broker(self, number: int) -> BrokerState:
        return self.state.brokers[number]

    def clock(self, at: int) -> str:
        """Seconds since the run began."""
        return f"{(at - self.run_source.start) / 1000:.2f}"

    def link(self, one: str, other: str) -> LinkState | None:
        """The fault between two, in either direction."""
        wrong = [it for it in self.state.links if {it.source, it.target} == {one, other}]
        return max(wrong, key=lambda it: (it.cut, it.delay_ms), default=None)

    def believed(self, number: int) -> bool:
        """Whether a broker that answers has this one among the live ones."""
        return any(number in it.brokers for it in self.state.brokers.values() if it.answers)

    def status(self, number: int) -> str:
        """The status of a broker, in a word."""
        broker = self.broker(number)
        if broker.status is Status.PAUSED:
            return "paused"
        if broker.status is Status.UP and broker.answers:
            return "up"
        word = self.story.last_word(number, self.at)
        # What was done to it may be seen a moment later.
        if word is not None and word.kind in (*DEATHS, "broker.paused"):
            return word.kind.partition(".")[2]
        return "starting" if broker.status is Status.UP else "down"
