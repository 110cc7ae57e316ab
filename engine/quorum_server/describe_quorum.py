"""DescribeQuorum 0-1 and DescribeCluster 0-1, on a controller.

DescribeQuorum    who leads, who votes, and how far each replica is; the leader knows
DescribeCluster   the controllers' addresses and the leader, for tools
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from engine.broker.call import Call
from engine.broker.kraft.raft_manager import RaftManager
from engine.broker.kraft.wire_messages import NAME, NOBODY, PARTITION
from engine.config.quorum import VoterAddress
from engine.errors import ErrorCode
from engine.wire.primitives import NO_THROTTLE

CONTROLLERS = 2  # the type of endpoints in DescribeCluster; 1: brokers
NO_OPERATIONS = -(2**31)  # authorized operations that were not asked for


class QuorumDescriber:
    def __init__(self, raft: RaftManager, voters: Mapping[int, VoterAddress]) -> None:
        self._raft, self._voters = raft, voters

    # -- DescribeQuorum ----------------------------------------------------------------------

    async def quorum(self, call: Call, request: Any) -> SimpleNamespace:
        asked = [(topic.topic_name, it.partition_index)
                 for topic in request.topics for it in topic.partitions]  # fmt: skip
        if asked != [(NAME, PARTITION)]:
            return SimpleNamespace(error_code=ErrorCode.unknown_topic_or_partition, topics=())
        client = self._raft.client
        if not client.is_leader:
            return SimpleNamespace(error_code=ErrorCode.not_leader_or_follower, topics=())
        now, voters = self._raft.now(), client.identity.voters
        observers = self._raft.progress.others(client.epoch, voters, now)
        partition = SimpleNamespace(
            partition_index=PARTITION,
            error_code=ErrorCode.none,
            leader_id=client.identity.node_id,
            leader_epoch=client.epoch,
            high_watermark=client.high_watermark,
            current_voters=[self._replica(replica, now) for replica in sorted(voters)],
            observers=[self._replica(replica, now) for replica in observers],
        )
        topic = SimpleNamespace(topic_name=NAME, partitions=(partition,))
        return SimpleNamespace(error_code=ErrorCode.none, topics=(topic,))

    def _replica(self, replica: int, now: int) -> SimpleNamespace:
        client = self._raft.client
        if replica == client.identity.node_id:
            end, fetch, caught_up = client.log.end.offset, now, now
        else:
            known = self._raft.progress.of(client.epoch, replica)
            end, fetch, caught_up = known.log_end, known.last_fetch_ms, known.last_caught_up_ms
        return SimpleNamespace(
            replica_id=replica,
            log_end_offset=end,
            last_fetch_timestamp=fetch,
            last_caught_up_timestamp=caught_up,
        )

    # -- DescribeCluster ---------------------------------------------------------------------

    async def cluster(self, call: Call, request: Any) -> SimpleNamespace:
        client, asks = self._raft.client, request.endpoint_type if call.version else 1
        error, text = ErrorCode.none, None
        if asks != CONTROLLERS:
            error = ErrorCode.mismatched_endpoint_type
            text = "The request was sent to an endpoint of type CONTROLLER, but we wanted an "\
                "endpoint of type BROKER"  # fmt: skip
        return SimpleNamespace(
            throttle_time=NO_THROTTLE,
            error_code=error,
            error_message=text,
            endpoint_type=CONTROLLERS,
            cluster_id=client.identity.cluster_id,
            controller_id=NOBODY if client.leader is None else client.leader,
            brokers=[
                SimpleNamespace(broker_id=id, host=voter.host, port=voter.port, rack=None)
                for id, voter in sorted(self._voters.items())
            ],
            cluster_authorized_operations=NO_OPERATIONS,
        )
