"""ActiveMQ Artemis: its server inside a small Java program (ArtemisServer.java), with a broker.xml.

journal-type NIO, persistence on; journal-datasync true (sync) or false (async): `flush`
two nodes: a primary that replicates to a backup, which becomes the primary when it is gone
"""

from pathlib import Path

from bench.brokers.jars import CLASSES, JARS, SERVER_FLAGS, installed
from bench.brokers.node import Node
from bench.brokers.system import System
from bench.peers.plain import HOST
from engine.cluster import java
from engine.cluster.ports import free_port

CONFIG = """\
<configuration xmlns="urn:activemq">
  <core xmlns="urn:activemq:core">
    <name>{name}</name>
    <persistence-enabled>true</persistence-enabled>
    <journal-type>NIO</journal-type>
    <journal-datasync>{sync}</journal-datasync>
    <journal-directory>{folder}/journal</journal-directory>
    <bindings-directory>{folder}/bindings</bindings-directory>
    <paging-directory>{folder}/paging</paging-directory>
    <large-messages-directory>{folder}/large</large-messages-directory>
    <security-enabled>false</security-enabled>
    <max-disk-usage>99</max-disk-usage>
    {pair}
    <acceptors><acceptor name="own">tcp://{host}:{port}</acceptor></acceptors>
    <address-settings>
      <address-setting match="#">
        <auto-create-queues>true</auto-create-queues>
        <auto-create-addresses>true</auto-create-addresses>
        <auto-delete-queues>false</auto-delete-queues>
        <auto-delete-addresses>false</auto-delete-addresses>
        <dead-letter-address>dead</dead-letter-address>
        <max-delivery-attempts>2</max-delivery-attempts>
        <max-size-bytes>-1</max-size-bytes>
      </address-setting>
    </address-settings>
    <addresses>
      <address name="dead"><anycast><queue name="dead"/></anycast></address>
      <address name="newest">
        <anycast><queue name="newest" last-value-key="key" non-destructive="true"/></anycast>
      </address>
    </addresses>
  </core>
</configuration>
"""
PAIR = """\
<connectors>
      <connector name="own">tcp://{host}:{port}</connector>
      <connector name="other">tcp://{host}:{other}</connector>
    </connectors>
    <cluster-user>lab</cluster-user>
    <cluster-password>lab</cluster-password>
    <ha-policy><replication>{role}</replication></ha-policy>
    <cluster-connections>
      <cluster-connection name="pair">
        <connector-ref>own</connector-ref>
        <static-connectors><connector-ref>other</connector-ref></static-connectors>
      </cluster-connection>
    </cluster-connections>"""
ROLES = ("<primary/>", "<backup/>")
STARTED = "the server has started"
REPLICATED = "the backup has a complete copy"


class ArtemisBroker(System):
    name, kind, remedy = "ActiveMQ Artemis", "artemis", "make peers fetches its jars by Maven"

    @classmethod
    def installed(cls) -> bool:
        return installed()

    @classmethod
    def version(cls) -> str:
        return next(JARS.glob("artemis-server-*.jar")).stem.rpartition("-")[2]

    @property
    def address(self) -> str:
        places = ",".join(f"tcp://{HOST}:{node.port}" for node in self.nodes)
        if self.size > 1:
            return f"({places})?initialConnectAttempts=200&retryInterval=50&reconnectAttempts=0"
        return f"{places}?reconnectAttempts=0"

    def start(self) -> None:
        ports = [free_port() for _ in range(self.size)]
        for number, port in enumerate(ports):
            folder = self.home / f"artemis-{number + 1}"
            folder.mkdir()
            self._write(folder, number, ports)
            command = [str(java.find()), *SERVER_FLAGS, "-cp", f"{CLASSES}:{JARS}/*"]
            command += ["ArtemisServer", str(folder / "broker.xml")]
            self.nodes.append(Node(command, folder, port, None, self._ready(number)))
            self.nodes[-1].start()

    def _write(self, folder: Path, number: int, ports: list[int]) -> None:
        pair, port = "", ports[number]
        if self.size > 1:
            other = ports[1 - number]
            pair = PAIR.format(host=HOST, port=port, other=other, role=ROLES[number])
        sync = "true" if self.how.get("flush", "sync") == "sync" else "false"
        text = CONFIG.format(
            name=f"node-{number + 1}", sync=sync, folder=folder, pair=pair, host=HOST, port=port
        )
        (folder / "broker.xml").write_text(text)

    def _ready(self, number: int) -> "_Ready":
        return _Ready(STARTED if number == 0 else REPLICATED)


class _Ready:
    """A node is ready when its log says so."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __call__(self, node: Node) -> bool:
        return self._words in node.output()
