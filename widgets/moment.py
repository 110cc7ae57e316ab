"""One moment of a run, with all that a picture of it needs: the argument of every layout."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from engine.cluster.state import BrokerState, ClusterState, LinkState, PartitionState, Status
from engine.model import TopicPartition
from widgets.reel import Reel
from widgets.story import DEATHS, Line, Story, internal

TRAIL = 280  # ms for which what moved is seen moving


@dataclass(frozen=True)
class Moment:
    reel: Reel
    at: int  # ms since 1970
    live: bool  # it is now
    acts: frozenset[str] = frozenset()  # what can be done at this moment
    topic: str = ""  # only this one; "": all of them
    playing: bool = False

    @cached_property
    def state(self) -> ClusterState:
        return self.reel.at(self.at)

    @property
    def story(self) -> Story:
        return self.reel.story

    @cached_property
    def lines(self) -> list[Line]:
        """What has happened up to now; what a recording knows of earlier days is left out."""
        return [line for line in self.story.until(self.at) if line.at >= self.reel.start]

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
        """What has just changed, for what is seen moving: each state with the one before."""
        states = self.reel.between(self.at - TRAIL, self.at)
        return list(pairwise(states))

    def broker(self, number: int) -> BrokerState:
        return self.state.brokers[number]

    def clock(self, at: int) -> str:
        """Seconds since the run began."""
        return f"{(at - self.reel.start) / 1000:.2f}"

    def link(self, one: str, other: str) -> LinkState | None:
        """What is wrong between two, in either direction."""
        wrong = [it for it in self.state.links if {it.source, it.target} == {one, other}]
        return max(wrong, key=lambda it: (it.cut, it.delay_ms), default=None)

    def believed(self, number: int) -> bool:
        """Whether some broker that answers takes this one for alive."""
        return any(number in it.brokers for it in self.state.brokers.values() if it.answers)

    def status(self, number: int) -> str:
        """A broker's, in a word."""
        broker = self.broker(number)
        if broker.status is Status.PAUSED:
            return "paused"
        if broker.status is Status.UP:
            return "up" if broker.answers else "starting"
        word = self.story.last_word(number, self.at)
        return word.kind.partition(".")[2] if word and word.kind in DEATHS else "down"
