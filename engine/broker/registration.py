"""A broker's place in the cluster: /brokers/ids/N, for as long as its session lasts.

    DIR/zookeeper.session     the id of the session that registered last

An ephemeral node outlives a crash by the session's time-out. Found at the next start, it is either
our own from before the crash, which is replaced, or that of another broker with our id, which
is alive: then we refuse to start. The session's id in our directory tells which.

The transaction that creates the node numbers this life of the broker: its epoch. What the
controller meant for an earlier life is told apart by it.
"""

import logging
from pathlib import Path

from kazoo.exceptions import NodeExistsError, NoNodeError

from engine.config import BrokerConfig
from engine.controller import znodes
from engine.errors import ErrorCode, KafkaError
from engine.zookeeper.client import ZookeeperClient

SESSION_FILE = "zookeeper.session"

log = logging.getLogger(__name__)


class Registration:
    def __init__(self, config: BrokerConfig, zookeeper: ZookeeperClient) -> None:
        self._config = config
        self._zookeeper = zookeeper
        self._file = Path(config.log_dirs[0]) / SESSION_FILE
        self.valid = False  # registered in the session that lasts

    async def register(self, port: int, now: int) -> int:
        """Returns the broker's epoch."""
        advertised = self._config.advertised or self._config.listener._replace(port=port)
        endpoint = znodes.Endpoint("PLAINTEXT", advertised.host, advertised.port)
        node = znodes.Broker((endpoint,), now, self._config.broker_rack)
        path = znodes.broker_path(self._config.broker_id)
        await self._clear_own(path)
        await self._clear_own(znodes.CONTROLLER)
        # Written first: should the connection break, nobody tells us whether the node was made.
        self._file.write_text(f"{self._zookeeper.session_id}\n")
        try:
            _, stat = await self._zookeeper.create(path, node.encode(), ephemeral=True)
        except NodeExistsError as error:
            raise KafkaError(
                ErrorCode.duplicate_broker_registration,
                f"Broker id {self._config.broker_id} is already registered at {path} by a broker "
                "that is alive. Stop it, or choose another --id.",
            ) from error
        self.valid = True
        epoch: int = stat.czxid
        return epoch

    async def _clear_own(self, path: str) -> None:
        """Take away what our own session before the crash left; it would vanish anyway."""
        stat = await self._zookeeper.exists(path)
        if stat is None or not self._file.exists():
            return
        if str(stat.ephemeralOwner) == self._file.read_text().strip():
            try:
                await self._zookeeper.delete(path)
            except NoNodeError:
                log.info("%s went with its session", path)
