"""RocketMQ: NamesrvStartup and BrokerStartup, each in a JVM with the jars from Maven.

flushDiskType=SYNC_FLUSH | ASYNC_FLUSH    `flush`
brokerRole=SYNC_MASTER and SLAVE          with two nodes; a slave takes no messages
waitTimeMillsInSendQueue=10000            by default it refuses what waited for 200 ms
maxTransferCountOnMessageInMemory=1000    by default a reader gets 32 messages at a time
"""

import os
from pathlib import Path

from bench.brokers.jars import JARS, ROCKET_FLAGS, SERVER_FLAGS, installed
from bench.brokers.node import Node
from bench.brokers.system import System
from bench.peers.plain import HOST
from engine.cluster import java
from engine.cluster.ports import free_port, port_taken

CONFIG = """\
brokerClusterName=lab
brokerName=broker
brokerId={number}
brokerRole={role}
flushDiskType={flush}
namesrvAddr={names}
brokerIP1={host}
brokerIP2={host}
listenPort={port}
haListenPort={replication}
storePathRootDir={folder}/store
storePathCommitLog={folder}/store/commitlog
autoCreateTopicEnable=true
mappedFileSizeCommitLog=134217728
diskMaxUsedSpaceRatio=99
enableCompaction=true
waitTimeMillsInSendQueue=10000
maxTransferCountOnMessageInMemory=1000
maxTransferBytesOnMessageInMemory=1048576
"""
STARTED = "boot success"


class RocketCluster(System):
    name, kind, remedy = "RocketMQ", "rocketmq", "make peers fetches its jars by Maven"

    @classmethod
    def installed(cls) -> bool:
        return installed()

    @classmethod
    def version(cls) -> str:
        return next(JARS.glob("rocketmq-broker-*.jar")).stem.rpartition("-")[2]

    @property
    def address(self) -> str:
        return f"{HOST}:{self._names.port}"

    def start(self) -> None:
        port, folder = free_port(), self.home / "names"
        folder.mkdir()
        (folder / "names.conf").write_text(f"listenPort={port}\nbindAddress={HOST}\n")
        main = "org.apache.rocketmq.namesrv.NamesrvStartup"
        self._names = self._node(main, folder, folder / "names.conf", port)
        self._names.start()
        for number in range(self.size):
            self._start_broker(number)

    def _start_broker(self, number: int) -> None:
        folder, port = self.home / f"rocket-{number + 1}", _three_ports()
        folder.mkdir()
        alone = "SYNC_MASTER" if self.size > 1 else "ASYNC_MASTER"
        text = CONFIG.format(
            number=number,
            role=alone if number == 0 else "SLAVE",
            flush="SYNC_FLUSH" if self.how.get("flush") == "sync" else "ASYNC_FLUSH",
            names=self.address,
            host=HOST,
            port=port,
            replication=free_port(),
            folder=folder,
        )
        (folder / "broker.conf").write_text(text)
        main = "org.apache.rocketmq.broker.BrokerStartup"
        self.nodes.append(self._node(main, folder, folder / "broker.conf", port))
        self.nodes[-1].start()

    def _node(self, main: str, folder: Path, config: Path, port: int) -> Node:
        flags = (*SERVER_FLAGS, *ROCKET_FLAGS, f"-Duser.home={folder}")  # where its logs are
        command = [str(java.find()), *flags, "-cp", f"{JARS}/*", main, "-c", str(config)]
        environment = {"ROCKETMQ_HOME": str(folder), "PATH": os.environ["PATH"]}
        return Node(command, folder, port, environment, _started)

    def stop(self) -> None:
        super().stop()
        self._names.stop()


def _started(node: Node) -> bool:
    return STARTED in node.output()


def _three_ports() -> int:
    """A port whose neighbour two below is free, too: a broker listens on both."""
    while True:
        port = free_port()
        if not port_taken(port - 2):
            return port
