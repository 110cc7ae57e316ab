"""A session with ZooKeeper for one command: `topics --zookeeper`, `configs --zookeeper`.

Before Kafka had requests for it, its tools changed topics and configurations by writing znodes, and
the controller saw the change. Kafka 2.8 still can do that; Kafka 3.0 can no longer.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from engine.errors import ApiException, ErrorCode
from engine.zookeeper import znodes

CONNECT_WAIT_S = 30.0  # until ZooKeeper has to answer

QUIET = logging.getLogger("engine.cli.zookeeper_session")  # kazoo logs each attempt to connect
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False


class ZnodeClient:
    """Reads and writes znodes. A znode that does not exist is None, or an empty list."""

    def __init__(self, kazoo: KazooClient) -> None:
        self._kazoo = kazoo

    def get(self, path: str) -> bytes | None:
        try:
            data: bytes | None = self._kazoo.get(path)[0]
        except NoNodeError:
            return None
        return data or b""

    def children(self, path: str) -> list[str]:
        try:
            return sorted(self._kazoo.get_children(path))
        except NoNodeError:
            return []

    def exists(self, path: str) -> bool:
        return self._kazoo.exists(path) is not None

    def create(self, path: str, data: bytes = b"", *, sequence: bool = False) -> bool:
        """With its parents. False: it exists already."""
        try:
            self._kazoo.create(path, data, makepath=True, sequence=sequence)
        except NodeExistsError:
            return False
        return True

    def set(self, path: str, data: bytes) -> None:
        """Create it, or replace its data."""
        if not self.create(path, data):
            self._kazoo.set(path, data)

    def brokers(self) -> list[int]:
        """The live ones."""
        return sorted(int(name) for name in self.children(znodes.BROKER_IDS))

    def config(self, kind: str, entity: str) -> dict[str, str]:
        return znodes.decode_config(self.get(znodes.config_path(kind, entity)) or b"")

    def change_config(self, kind: str, entity: str, config: Mapping[str, str]) -> None:
        """Replace what is set for an entity, and leave a note for every broker."""
        self.set(znodes.config_path(kind, entity), znodes.encode_config(config))
        note = znodes.encode_config_change(kind, entity)
        self.create(znodes.CONFIG_CHANGE, note, sequence=True)


@contextmanager
def open_session(hosts: str) -> Iterator[ZnodeClient]:
    """`hosts` as in zookeeper.connect: HOST:PORT,HOST:PORT/chroot."""
    kazoo = KazooClient(hosts, logger=QUIET)
    try:
        kazoo.start(CONNECT_WAIT_S)
        yield ZnodeClient(kazoo)
    except KazooTimeoutError:
        raise ApiException(
            ErrorCode.broker_not_available,
            f"no answer from ZooKeeper at {hosts} in {CONNECT_WAIT_S:.0f} s: is it running?",
        ) from None
    finally:
        kazoo.stop()
        kazoo.close()
