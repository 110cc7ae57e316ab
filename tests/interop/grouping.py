"""Groups on a real broker: the command that looks at them, members, and offsets of nobody's."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import confluent_kafka
import pytest

from engine.cli.main import PROGRAM, main
from engine.cluster.cluster import Cluster
from engine.storage.records import Record
from tests.interop.clients import SECOND, confluent_write
from tests.interop.watch import until

CONFIG = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "log.retention.ms": "-1",  # records of long ago
}
HOUR = 3_600_000

_numbers = count()


class Groups:
    """The command on this broker, and what it prints."""

    def __init__(self, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
        self.bootstrap = cluster.bootstrap
        self.capsys = capsys

    def run(self, *options: str) -> tuple[int, str, str]:
        arguments = ["consumer-groups", "--bootstrap-server", self.bootstrap, *options]
        status = main([str(each) for each in arguments])
        out, err = self.capsys.readouterr()
        return status, out, err

    def out(self, *options: str) -> list[list[str]]:
        """The cells of what it prints; it has nothing to complain of."""
        status, out, err = self.run(*options)
        assert (status, err) == (0, "")
        return [line.split() for line in out.splitlines() if line]

    def error(self, *options: str) -> str:
        """The one line in which it fails."""
        status, _, err = self.run(*options)
        assert status == 1
        assert err.count("\n") == 1
        return err.removeprefix(f"{PROGRAM}: ").strip()

    def reset(self, group: str, *options: str) -> dict[tuple[str, int], int]:
        rows = self.out("--reset-offsets", "--group", group, *options)
        assert rows[0] == ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]
        assert all(row[0] == group for row in rows[1:])
        return {(topic, int(number)): int(offset) for _, topic, number, offset in rows[1:]}

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        status, out, _ = self.run("--describe", "--group", group)
        assert status == 0
        rows = [line.split() for line in out.splitlines()[2:]]
        return {(row[1], int(row[2])): int(row[3]) for row in rows if row[3] != "-"}


@contextmanager
def member(
    cluster: Cluster, group: str, topic: str, **more: str
) -> Iterator[confluent_kafka.Consumer]:
    """One that has got its share of the topic."""
    shares: list[list[confluent_kafka.TopicPartition]] = []
    settings = {key.replace("_", "."): value for key, value in more.items()}
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            **settings,
        }
    )
    consumer.subscribe([topic], on_assign=lambda _, share: shares.append(share))
    try:
        until(lambda: consumer.poll(0) is None and shares)
        yield consumer
    finally:
        consumer.close()


def new_group() -> str:
    return f"group-{next(_numbers)}"


def new_topic(cluster: Cluster) -> str:
    """Partition 0 has ten records, an hour apart from each other; partition 1 has none."""
    name = f"grouped-{next(_numbers)}"
    cluster.admin.create_topic(name, partitions=2)
    records = [Record(n, SECOND + n * HOUR, None, b"%d" % n) for n in range(10)]
    confluent_write(cluster.bootstrap, name, records)
    return name


def committer(cluster: Cluster, group: str, topic: str) -> Callable[..., None]:
    """Commits, for nobody, offsets of partitions 0, 1 ... of the topic."""

    def commit(*offsets: int) -> None:
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": cluster.bootstrap, "group.id": group}
        )
        places = [confluent_kafka.TopicPartition(topic, n, at) for n, at in enumerate(offsets)]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    return commit
