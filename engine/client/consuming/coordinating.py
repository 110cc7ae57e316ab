"""Who coordinates the group of a consumer; how one is found at all is in client/finding.py."""

from engine.client.finding import Finding, Kind
from engine.config.consumer import ConsumerConfig

LANE = "coordinator"  # a JoinGroup holds up all that comes behind it, and nothing else shall wait


class Coordinating(Finding):
    def __init__(self, config: ConsumerConfig) -> None:
        assert config.group_id is not None
        super().__init__(Kind.GROUP, config.group_id, config.retry_backoff_ms / 1000)
        self.group_id = config.group_id
