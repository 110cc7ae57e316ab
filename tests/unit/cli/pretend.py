"""A cluster of brokers 1, 2 and 3 that is pretended: one answers for all, and notes what it did."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace as Message
from typing import Any, NamedTuple

import pytest

from engine.cli.main import PROGRAM, main
from engine.errors import ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.client.fake import FakeBroker

Outcome = tuple[ErrorCode, str | None]
DONE: Outcome = (ErrorCode.none, None)
ELSEWHERE: Outcome = (ErrorCode.not_controller, "the controller is broker 2")


class At(NamedTuple):
    """Where a partition is."""

    leader: int
    replicas: Sequence[int]
    isr: Sequence[int]


class Pretended:
    def __init__(self) -> None:
        self.alive = {1, 2, 3}
        self.topics: dict[str, list[At]] = {}
        self.under_way: dict[TopicPartition, tuple[Sequence[int], ...]] = {}
        self.min_isr = "1"
        self.refusals: list[Outcome] = []  # of whole requests, one after the other
        self.outcomes: dict[TopicPartition, Outcome] = {}  # of those that don't just succeed
        self.configured: list[tuple[int, str, dict[str, str | None]]] = []
        self.broker = FakeBroker(
            {
                Api.METADATA: self._metadata,
                Api.DESCRIBE_CONFIGS: self._configs,
                Api.INCREMENTAL_ALTER_CONFIGS: self._configure,
                Api.LIST_PARTITION_REASSIGNMENTS: self._list,
                Api.ALTER_PARTITION_REASSIGNMENTS: self._move,
                Api.ELECT_LEADERS: self._elect,
            }
        )

    def run(self, command: str, *options: str) -> int:
        return main([*command.split(), "--bootstrap-server", str(self.broker.address), *options])

    def moves(self) -> list[dict[TopicPartition, Sequence[int] | None]]:
        """What was asked for by each AlterPartitionReassignments."""
        return [
            {
                TopicPartition(topic.name, each.partition_index): each.replicas
                for topic in request.topics
                for each in topic.partitions
            }
            for request in self.broker.requests(Api.ALTER_PARTITION_REASSIGNMENTS)
        ]

    def _metadata(self, request: Any) -> Message:
        host, port = self.broker.address
        return Message(
            brokers=[Message(node_id=each, host=host, port=port) for each in sorted(self.alive)],
            cluster_id="pretended",
            controller_id=1,
            topics=[
                Message(
                    error_code=ErrorCode.none,
                    name=name,
                    partitions=[
                        Message(
                            error_code=ErrorCode.none,
                            partition_index=number,
                            leader_id=at.leader,
                            replica_nodes=at.replicas,
                            isr_nodes=at.isr,
                        )
                        for number, at in enumerate(partitions)
                    ],
                )
                for name, partitions in self.topics.items()
            ],
        )

    def _refusal(self) -> Outcome:
        return self.refusals.pop(0) if self.refusals else DONE

    def _list(self, request: Any) -> Message:
        code, text = self._refusal()
        wanted = None
        if request.topics is not None:
            wanted = {
                (topic.name, number)
                for topic in request.topics
                for number in topic.partition_indexes
            }
        listed = [
            Message(
                name=partition.topic,
                partitions=[
                    Message(
                        partition_index=partition.partition,
                        replicas=replicas,
                        adding_replicas=adding,
                        removing_replicas=removing,
                    )
                ],
            )
            for partition, (replicas, adding, removing) in self.under_way.items()
            if wanted is None or partition in wanted
        ]
        return Message(error_code=code, error_message=text, topics=listed)

    def _move(self, request: Any) -> Message:
        code, text = self._refusal()
        responses = [
            Message(
                name=topic.name,
                partitions=[
                    Message(
                        partition_index=each.partition_index, error_code=code, error_message=why
                    )
                    for each in topic.partitions
                    for code, why in [self._outcome(topic.name, each.partition_index)]
                ],
            )
            for topic in request.topics
        ]
        return Message(error_code=code, error_message=text, responses=responses)

    def _elect(self, request: Any) -> Message:
        """A broker that is not the controller says so of every partition."""
        refusal = self._refusal()
        wanted = [
            TopicPartition(topic.topic, number)
            for topic in request.topic_partitions or ()
            for number in topic.partitions
        ]
        results = [
            Message(
                topic=each.topic,
                partition_result=[
                    Message(partition_id=each.partition, error_code=code, error_message=text)
                ],
            )
            for each in (wanted if request.topic_partitions is not None else self.outcomes)
            for code, text in [refusal if refusal != DONE else self._outcome(*each)]
        ]
        return Message(error_code=ErrorCode.none, replica_election_results=results)

    def _outcome(self, topic: str, partition: int) -> Outcome:
        return self.outcomes.get(TopicPartition(topic, partition), DONE)

    def _configs(self, request: Any) -> Message:
        entry = Message(name="min.insync.replicas", value=self.min_isr, config_source=5)
        return Message(results=[Message(error_code=ErrorCode.none, configs=[entry])])

    def _configure(self, request: Any) -> Message:
        for resource in request.resources:
            changes = {each.name: each.value for each in resource.configs}
            self.configured.append((resource.resource_type, resource.resource_name, changes))
        return Message(responses=[Message(error_code=ErrorCode.none, error_message=None)])


@contextmanager
def pretended() -> Iterator[Pretended]:
    cluster = Pretended()
    with cluster.broker:
        yield cluster


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What a command has printed that had nothing to complain of."""
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on stderr of a command that failed."""
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    return err.removeprefix(f"{PROGRAM}: ").strip()


def written(directory: Path, content: object) -> str:
    """A file with this in it, as JSON unless it is text; returns its path."""
    path = directory / "partitions.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)
