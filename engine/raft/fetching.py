"""A Fetch request of this node, whoever it is sent to."""

from engine.raft.log import RaftLog
from engine.raft.messages import RaftFetchRequest
from engine.raft.model import QuorumConfig, QuorumIdentity
from engine.raft.requests import RaftRequests
from engine.raft.role import RandRange


class RaftFetcher:
    """Sends Fetch from the log end, one at a time."""

    def __init__(
        self,
        identity: QuorumIdentity,
        config: QuorumConfig,
        log: RaftLog,
        requests: RaftRequests,
        randrange: RandRange,
    ) -> None:
        self.identity = identity
        self.config = config
        self.log = log
        self.requests = requests
        self._randrange = randrange

    def fetch(self, node: int, epoch: int, now: int) -> None:
        end = self.log.end
        self.requests.send(
            node,
            RaftFetchRequest(
                cluster_id=self.identity.cluster_id,
                epoch=epoch,
                replica=self.identity.node_id,
                offset=end.offset,
                last_fetched_epoch=end.epoch,
                max_wait_ms=self.config.fetch_max_wait_ms,
            ),
            now,
        )

    def fetch_from_any(self, epoch: int, now: int) -> None:
        """From a voter at random: who does not lead answers who does."""
        ready = [node for node in self.identity.others if self.requests.is_ready(node)]
        if ready and self.requests.are_idle:
            self.fetch(ready[self._randrange(len(ready))], epoch, now)
