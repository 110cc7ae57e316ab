"""The plan of a new topic: the request, completed by the broker's defaults.

    partitions, replication      counts, or -1 for num.partitions and default.replication.factor
    replicas by hand             instead of both
    nothing but a name           a client produced to it, or asked for it: see `automatic`

A `Plan` has passed every check that Kafka makes; `ControllerGateway.create_topic` carries it out.
If every broker has a rack (`broker.rack`), the replicas of a partition are in as many racks as
possible.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from engine.broker import coordinator_topic
from engine.broker.config_cache import ConfigCache
from engine.broker.metadata import Metadata
from engine.config import BrokerConfig, TopicConfig
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.metadata.gateway import ControllerGateway
from engine.topics import check_assignment, check_new_name, spread

DEFAULT = -1


class Plan(NamedTuple):
    name: str
    assignment: Mapping[int, list[int]]  # each partition's replicas, the preferred leader first
    overrides: Mapping[str, str]
    config: TopicConfig  # the overrides over the defaults

    @property
    def replication(self) -> int:
        return len(self.assignment[0])


@dataclass(frozen=True)
class AutoTopicCreationManager:
    config: BrokerConfig
    configs: ConfigCache
    metadata: Metadata
    gateway: ControllerGateway
    random: Random

    @property
    def is_enabled(self) -> bool:
        """For topics that a client asks for: auto.create.topics.enable."""
        return self.config.auto_create_topics_enable

    def plan(
        self,
        name: str,
        overrides: Mapping[str, str],
        *,
        partitions: int = DEFAULT,
        replication: int = DEFAULT,
        by_hand: Mapping[int, list[int]] | None = None,
    ) -> Plan:
        check_new_name(name, self.metadata.topics)
        config = TopicConfig.parse(overrides, base=self.configs.broker_config.topic_defaults())
        if by_hand:
            if (partitions, replication) != (DEFAULT, DEFAULT):
                raise invalid_request(
                    "Both numPartitions or replicationFactor and replicasAssignments were set. "
                    "Both cannot be used at the same time."
                )
            check_assignment(dict(by_hand), self.metadata.registered)
            return Plan(name, by_hand, overrides, config)
        defaults = self.config
        assignment = spread(
            defaults.num_partitions if partitions == DEFAULT else partitions,
            defaults.default_replication_factor if replication == DEFAULT else replication,
            self.metadata.eligible,
            fenced=self.metadata.fenced,
            racks=self.metadata.racks,
            start=self.random.randrange(1000),
            shift=self.random.randrange(1000),
        )
        return Plan(name, assignment, overrides, config)

    async def create(self, name: str) -> None:
        """If two requests create the topic at once, both succeed."""
        try:
            made = self.automatic(name)
            await self.gateway.create_topic(made.name, made.assignment, made.overrides)
        except ApiException as error:
            if error.code != ErrorCode.topic_already_exists:
                raise

    def automatic(self, name: str) -> Plan:
        """A topic that is created when a client uses it."""
        config = self.config
        match name:
            case coordinator_topic.OFFSETS:
                return self.plan(
                    name,
                    {
                        "cleanup.policy": "compact",
                        "compression.type": "producer",
                        "segment.bytes": str(config.offsets_topic_segment_bytes),
                    },
                    partitions=config.offsets_topic_num_partitions,
                    replication=config.offsets_topic_replication_factor,
                )
            case coordinator_topic.TRANSACTIONS:
                return self.plan(
                    name,
                    {
                        "cleanup.policy": "compact",
                        "compression.type": "uncompressed",
                        "segment.bytes": str(config.transaction_state_log_segment_bytes),
                        "min.insync.replicas": str(config.transaction_state_log_min_isr),
                        "unclean.leader.election.enable": "false",
                    },
                    partitions=config.transaction_state_log_num_partitions,
                    replication=config.transaction_state_log_replication_factor,
                )
            case _:
                return self.plan(name, {})
