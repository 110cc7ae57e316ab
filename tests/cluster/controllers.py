"""Controllers without ZooKeeper for a test: processes of ours, or of Apache Kafka's."""

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from engine.cluster.child import Child, end_all
from engine.cluster.kafka_process import KAFKA, LOG4J, LOGGING, OURS, command
from engine.cluster.ports import free_ports
from engine.config.properties import properties_text
from engine.raft.bootstrap import format_directory
from engine.raft.metadata_directory import METADATA_PARTITION
from engine.raft.quorum_state_file import QUORUM_STATE
from tests.real.jars import KAFKA_4, KRAFT

CLUSTER_ID = "O2whmP1nSWeNENpX08USQQ"
HEAP = 256  # MB, of Kafka's
KAFKA_41 = "kafka-4.1"  # the kind of a node of that release; KAFKA is 3.9
LOG4J_2 = (
    """\
rootLogger.level = INFO
rootLogger.appenderRef.out.ref = out
appender.out.name = out
appender.out.type = Console
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
""",
    "log4j2.configurationFile",
)


class Controllers:
    """Three voters, 101 to 103, each of a kind. They end with the block."""

    def __init__(
        self, folder: Path, kinds: Iterable[str] = (OURS, OURS, OURS), config: Sequence[str] = ()
    ) -> None:
        """`config`: KEY=VALUE."""
        self.config = config
        self.kinds: Mapping[int, str] = dict(enumerate(kinds, 101))
        self.ports = dict(zip(self.kinds, free_ports(len(self.kinds)), strict=True))
        self.folder = folder
        self.children: dict[int, Child] = {}
        for id in self.kinds:
            format_directory(self.directory(id), id, CLUSTER_ID, 0)

    def __enter__(self) -> Self:
        for id in self.kinds:
            self.start(id)
        return self

    def __exit__(self, *_: object) -> None:
        end_all(list(self.children.values()), 5.0)

    @property
    def voters(self) -> str:
        return ",".join(f"{id}@127.0.0.1:{port}" for id, port in self.ports.items())

    def address(self, id: int) -> str:
        return f"127.0.0.1:{self.ports[id]}"

    def directory(self, id: int) -> Path:
        return self.folder / f"controller-{id - 100}"

    def metadata(self, id: int) -> Path:
        return self.directory(id) / str(METADATA_PARTITION)

    def start(self, id: int) -> None:
        run = self._ours(id) if self.kinds[id] == OURS else self._kafkas(id)
        log = self.folder / f"controller-{id - 100}.log"

        self.children[id] = Child(run, log, cwd=self.folder)

    def _ours(self, id: int) -> list[str]:
        where = "--port", str(self.ports[id]), "--data", str(self.directory(id))
        python = sys.executable, "-m", "engine", "controller"
        keys = [word for setting in self.config for word in ("--config", setting)]
        return [*python, "--id", str(id), *where, "--voters", self.voters, *keys]

    def _kafkas(self, id: int) -> list[str]:
        settings = {
            "process.roles": "controller",
            "node.id": id,
            "log.dirs": self.directory(id),
            "controller.quorum.voters": self.voters,
            "listeners": f"CONTROLLER://{self.address(id)}",
            "controller.listener.names": "CONTROLLER",
            **dict(setting.split("=", 1) for setting in self.config),
        }
        return kafka_of(settings, self.folder, f"controller-{id - 100}", self.kinds[id])

    # -- what their files say --------------------------------------------------------------

    def election(self, id: int) -> tuple[int, int]:
        """The epoch and the leader that a controller knows; -1: none."""
        path = self.metadata(id) / QUORUM_STATE
        found = json.loads(path.read_text()) if path.exists() else {}
        return found.get("leaderEpoch", -1), found.get("leaderId", -1)

    def leader(self, limit_s: float, ids: Iterable[int] = (), after: int = -1) -> int:
        """The leader on which these controllers agree, in an epoch after the given one."""
        ids = list(ids) or list(self.kinds)
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            elections = {self.election(id) for id in ids}
            ((epoch, leader), *others) = elections
            if not others and epoch > after and leader in ids:
                return leader
            time.sleep(0.01)
        raise AssertionError({id: self.election(id) for id in self.kinds})

    def epoch(self) -> int:
        return max(self.election(id)[0] for id in self.kinds)

    def log(self, id: int) -> bytes:
        """The bytes of its metadata log, of all segments."""
        paths = sorted(self.metadata(id).glob("*.log"))
        return b"".join(path.read_bytes() for path in paths)


def kafka_of(
    settings: Mapping[str, object], folder: Path, name: str, kind: str = KAFKA
) -> list[str]:
    """The command of a node of Kafka 3.9, or 4.1; its settings are written into a file."""
    properties = folder / f"{name}.properties"
    properties.write_text(properties_text(settings, escapes=True))
    jars = KAFKA_4 if kind == KAFKA_41 else KRAFT
    java, *rest = command("kafka.Kafka", str(properties), folder=jars.folder, heap=HEAP)
    text, key = LOG4J_2 if kind == KAFKA_41 else (LOG4J.format(level="INFO"), "log4j.configuration")
    logging = folder / f"{kind}.{LOGGING}"
    logging.write_text(text)
    return [java, f"-D{key}=file:{logging}", *rest]
