"""Kafka Streams itself, where Kafka's jars are: WordCount.java counts the words of a topic.

    ready()                                    or an ApiException that says what is missing
    with WordCount(cluster, orders, counts):
        ...                                    `counts` gets a record for each count that changes

The jars are those of `make real`, or of the Kafka 2.8 that KAFKA_HOME names. Java compiles the
program when it starts, so it takes a JDK. The program ends with the block, or with the kernel.
"""

from pathlib import Path
from typing import Self

from engine import Cluster
from engine.cluster import java
from engine.cluster.child import Child, end_all
from engine.cluster.kafka_process import command, jars
from engine.cluster.scratch import Scratch
from engine.errors import ApiException, ErrorCode
from streams.processes import PATIENCE

PROGRAM = Path(__file__).with_name("WordCount.java")


def ready() -> Path:
    """The folder with Kafka's jars, if there is also a Java that compiles."""
    folder, home = jars(), java.find().resolve().parent
    if not (home / "javac").exists():
        raise ApiException(
            ErrorCode.broker_not_available,
            f"A Java with its compiler (a JDK) is needed, and {home} has none",
        )
    return folder


class WordCount:
    def __init__(self, cluster: Cluster, source: str, target: str) -> None:
        self._scratch = Scratch()
        place, name = self._scratch.path, f"word-count-{target}"
        words = [cluster.bootstrap, name, source, target, "at_least_once", str(place / "state")]
        run = command(str(PROGRAM), *words, folder=ready(), heap=256)
        self._child = Child(run, place / "word-count.log", keep=(self._scratch.end,))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end_all([self._child], PATIENCE)
        self._scratch.remove()
