"""The numbers of one broker, with the names that Kafka's JMX exporter gives them.

    kafka_server_replicamanager_underreplicatedpartitions 0
    kafka_log_log_size{topic="orders",partition="0"} 18230
    kafka_network_requestmetrics_requests_total{request="Produce"} 41

Most are read from the broker's state when a client requests the page, and cost nothing before. Some
are counted when they happen, only while there is such a page: requests (request_counts.py), the
bytes of records (a function around the dispatcher), and once a second the ends of logs and the
events of ISR changes.

The sum of times (totaltimems_sum) is our own: the exporter has a mean instead.
kafka_consumergroup_lag is the name that the Kafka exporter gives it, as Kafka's brokers do not know
it: a broker shows it for the groups that it coordinates, in the partitions that it leads.

Left out: quantiles, for which Prometheus has rates of a sum and a count; the time in the queue of
requests, since a broker here has one event loop and no such queue; bytes by topic, since no batch
is looked into.

Invariant: a counter never goes down while the broker runs.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from engine.broker.broker import Broker
from engine.broker.server import Connection, Handle, Pieces
from engine.model import TopicPartition
from engine.storage.segment import Slice
from engine.wire.apis import Api, ApiKey
from engine.wire.frame import Frame

PRODUCE, FETCH = int(Api.PRODUCE), int(Api.FETCH)
MANAGER = "kafka_server_replicamanager_"
CONTROLLER = "kafka_controller_kafkacontroller_"
TRAFFIC = "kafka_server_brokertopicmetrics_"
REQUESTS = "kafka_network_requestmetrics_"
LOG = "kafka_log_log_"


class Metric(NamedTuple):
    """One line of the page."""

    name: str
    value: float
    labels: tuple[tuple[str, object], ...] = ()

    def __str__(self) -> str:
        pairs = ",".join(f'{key}="{_escaped(str(value))}"' for key, value in self.labels)
        return f"{self.name}{{{pairs}}} {self.value:.15g}" if pairs else f"{self.name} {self.value}"


class BrokerMetrics:
    def __init__(self, broker: Broker, connections: Collection[Connection]) -> None:
        self._broker, self._connections = broker, connections
        broker.request_counts.on = True
        self._bytes: Counter[str] = Counter()  # of records, in and out
        self._messages: Counter[str] = Counter()  # appended by producers, by topic
        self._ends: dict[TopicPartition, int] = {}  # of the logs that were led a moment ago
        self._isr: Counter[str] = Counter()
        self._seen = 0  # the number of the last event that was looked at

    def counted(self, handle: Handle) -> Handle:
        """A function that handles requests by `handle`, and counts the bytes of records."""

        async def handle_and_count(connection: Connection, frame: Frame) -> Pieces | None:
            answer = await handle(connection, frame)
            api = int.from_bytes(frame[:2], "big")
            if api == PRODUCE:
                self._bytes["in"] += len(frame)
            elif api == FETCH and connection.peer_id is None and answer is not None:
                self._bytes["out"] += sum(map(_size, answer))
            return answer

        return handle_and_count

    def observe(self) -> None:
        """What has happened since the last call; once a second, and for each page."""
        ends = {}
        for topic_partition, log in self._logs():
            partition = self._broker.replicas.partitions.get(topic_partition)
            if partition is not None and partition.is_leader:
                ends[topic_partition] = log.end_offset
                before = self._ends.get(topic_partition, log.end_offset)
                self._messages[topic_partition.topic] += max(log.end_offset - before, 0)
        self._ends = ends
        found = self._broker.events.after(min(self._seen, self._broker.events.total), 10_000)
        self._seen = found.last
        for event in found.events:
            if event.kind == "isr.changed":
                was, isr = set(event.data["was"]), set(event.data["isr"])
                self._isr["shrinks"] += bool(was - isr)
                self._isr["expands"] += bool(isr - was)

    def page(self) -> str:
        """All lines; those of one name together, as Prometheus wants them."""
        self.observe()
        metrics: dict[str, list[Metric]] = {}
        for metric in self._all():
            metrics.setdefault(metric.name, []).append(metric)
        lines = []
        for name, rows in metrics.items():
            kind = "counter" if name.endswith(("_total", "_count", "_sum")) else "gauge"
            lines += [f"# TYPE {name} {kind}", *map(str, rows)]
        return "\n".join(lines) + "\n"

    def _all(self) -> Iterator[Metric]:
        yield from self._replicas()
        yield from self._controller()
        yield from self._traffic()
        yield from self._log_sizes()
        yield from self._lags()

    def _replicas(self) -> Iterator[Metric]:
        partitions = list(self._broker.replicas.partitions.values())
        led = [partition for partition in partitions if partition.is_leader]
        config = self._broker.configs.topic_config
        short = [it for it in led if len(it.isr) < config(it.id.topic).min_insync_replicas]
        yield Metric(f"{MANAGER}partitioncount", len(partitions))
        yield Metric(f"{MANAGER}leadercount", len(led))
        under = sum(len(partition.isr) < len(partition.replicas) for partition in led)
        yield Metric(f"{MANAGER}underreplicatedpartitions", under)
        yield Metric(f"{MANAGER}underminisrpartitioncount", len(short))
        for what in ("shrinks", "expands"):
            yield Metric(f"{MANAGER}isr{what}_total", self._isr[what])

    def _controller(self) -> Iterator[Metric]:
        """Of the whole cluster, by the broker that is the controller; 0 by all others."""
        metadata, active = self._broker.metadata, self._broker.gateway.is_controller
        partitions = [
            each for topic in metadata.topics.values() for each in topic.partitions.values()
        ]
        offline = sum(each.leader not in metadata.brokers for each in partitions)
        yield Metric(f"{CONTROLLER}activecontrollercount", int(active))
        yield Metric(f"{CONTROLLER}offlinepartitionscount", offline if active else 0)
        yield Metric(f"{CONTROLLER}globaltopiccount", len(metadata.topics) if active else 0)
        yield Metric(f"{CONTROLLER}globalpartitioncount", len(partitions) if active else 0)

    def _traffic(self) -> Iterator[Metric]:
        for topic, count in sorted(self._messages.items()):
            yield Metric(f"{TRAFFIC}messagesin_total", count, (("topic", topic),))
        for way in ("in", "out"):
            yield Metric(f"{TRAFFIC}bytes{way}_total", self._bytes[way])
        counts = self._broker.request_counts
        for api, number in sorted(counts.numbers.items()):
            label = (("request", _camel(api)),)
            yield Metric(f"{REQUESTS}requests_total", number, label)
            yield Metric(f"{REQUESTS}totaltimems_count", number, label)
            yield Metric(f"{REQUESTS}totaltimems_sum", counts.times[api] / 1e6, label)
        count = len(self._connections)
        yield Metric("kafka_server_socket_server_metrics_connection_count", count)

    def _log_sizes(self) -> Iterator[Metric]:
        for partition, log in sorted(self._logs()):
            label = _labels(partition)
            yield Metric(f"{LOG}size", log.size, label)
            yield Metric(f"{LOG}numlogsegments", len(log.segments), label)
            yield Metric(f"{LOG}logstartoffset", log.start_offset, label)
            yield Metric(f"{LOG}logendoffset", log.end_offset, label)

    def _lags(self) -> Iterator[Metric]:
        ends = {str(partition): (partition, end) for partition, end in self._ends.items()}
        for group in self._broker.groups.snapshot():
            for name, offset in group["offsets"].items():
                if name in ends:
                    partition, end = ends[name]
                    labels = (("consumergroup", group["group"]), *_labels(partition))
                    yield Metric("kafka_consumergroup_lag", max(end - offset, 0), labels)

    def _logs(self) -> Iterable[tuple[TopicPartition, Any]]:
        for directory in self._broker.replicas.logs.directories:
            yield from directory.logs.items()


def _labels(partition: TopicPartition) -> tuple[tuple[str, object], ...]:
    return ("topic", partition.topic), ("partition", partition.partition)


def _size(piece: object) -> int:
    return piece.size if isinstance(piece, Slice) else len(piece)  # type: ignore[arg-type]


def _camel(api: ApiKey) -> str:
    return "".join(word.capitalize() for word in api.name.split("_"))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
