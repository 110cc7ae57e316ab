"""What the quorum of a cluster without ZooKeeper has of topics and brokers.

Every controller applies the committed records, so each knows the same, one a little sooner than
another: the answer with the highest offset counts. Combined nodes are asked likewise.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from engine.cluster.metadata_servers import PartitionLeadership
from engine.cluster.observer import Observer
from engine.cluster.state import BrokerState, Status
from engine.cluster.state_merger import ProcessState
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition

ANSWER_WAIT_S = 5.0  # while controllers run
ASK_AGAIN_S = 0.05

Members = Callable[[], Mapping[int, ProcessState]]


class QuorumMetadataView:
    def __init__(self, observer: Observer, members: Members) -> None:
        """`members`: the processes of the voters, by node id."""
        self._observer, self._members = observer, members

    def topics(self) -> list[str]:
        return sorted(self._ask()["topics"])

    def brokers(self) -> set[int]:
        return {*self._ask()["unfenced"]}

    def partitions(self, topic: str) -> list[int]:
        return [int(number) for number in self._ask(topic)["partitions"]]

    def leadership(self, partition: TopicPartition) -> PartitionLeadership | None:
        found = self._ask(partition.topic)["partitions"].get(str(partition.partition))
        return found and PartitionLeadership(found[0], tuple(found[1]))

    def has_session(self, number: int, broker: BrokerState) -> bool:
        return not broker.fenced and number in self.brokers()

    def close(self) -> None:
        """It has no connection of its own."""

    def _ask(self, topic: str | None = None) -> Any:
        """The newest answer of the controllers, which are asked again while all are busy."""
        deadline = time.monotonic() + ANSWER_WAIT_S
        while True:
            up = [node for node, member in self._members().items() if member.status is Status.UP]
            answers = self._observer.ask_all(up, {"ask": "metadata", "topic": topic})
            if answers:
                return max(answers, key=lambda answer: answer["offset"])
            if not up or time.monotonic() > deadline:
                text = "no controller of this cluster answers"
                raise ApiException(ErrorCode.broker_not_available, text)
            time.sleep(ASK_AGAIN_S)
