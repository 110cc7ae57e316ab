"""The exercises of 04_streams: each takes the answer, and refuses what is nearly one."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import import_module as lab
from typing import Any

import pytest

from engine import Cluster
from tests.interop.watch import until

# -- in code ---------------------------------------------------------------------------------


def keeps_tombstones(changes: Any) -> dict[str, Any]:
    return dict(changes)


def drops_nothing(changes: Any) -> dict[str, Any]:
    return {key: value for key, value in changes if value is not None}


def falsy_is_gone(changes: Any) -> dict[str, Any]:
    return {key: value for key, value in dict(changes).items() if value}


def only_new(before: Any, after: Any) -> list[Any]:
    return sorted((key, value) for key, value in after.items() if before.get(key) != value)


def everything(before: Any, after: Any) -> list[Any]:
    return [(key, after.get(key)) for key in sorted({*before, *after})]


def only_the_last(at: int, size: int, every: int) -> list[int]:
    return [at - at % every]


def with_their_ends(at: int, size: int, every: int) -> list[int]:
    return [start for start in range(0, at + 1, every) if start <= at <= start + size]


def at_once(batches: Any, delay: int) -> list[int]:
    """The watermark moves with each event."""
    found, newest = [], -(10**9)
    for at in (each for batch in batches for each in batch):
        newest = max(newest, at)
        found += [at] if at < newest - delay else []
    return found


def forgetful(batches: Any, delay: int) -> list[int]:
    """The watermark goes back with a batch that is old."""
    found: list[int] = []
    for before, batch in zip([[], *batches], batches, strict=False):
        found += [at for at in batch if before and at < max(before) - delay]
    return found


def only_again(epoch: int, rows: Any, topic: Any) -> None:
    """Writes the epoch again after a crash."""
    for row in rows:
        topic.write(epoch, row)


def by_value(epoch: int, rows: Any, topic: Any) -> None:
    """Two guests who order the same are one to it."""
    for row in rows:
        if (epoch, row) not in topic.read():
            topic.write(epoch, row)


def all_or_nothing(epoch: int, rows: Any, topic: Any) -> None:
    """An epoch that has begun is taken for finished."""
    if all(number != epoch for number, _ in topic.read()):
        for row in rows:
            topic.write(epoch, row)


def of_all_epochs(epoch: int, rows: Any, topic: Any) -> None:
    """Counts what is there, of whichever epoch."""
    for row in rows[len(topic.read()) :]:
        topic.write(epoch, row)


CODE: dict[str, tuple[str, list[Callable[..., Any]]]] = {
    "fold": ("fold", [keeps_tombstones, drops_nothing, falsy_is_gone]),
    "as_stream": ("changes", [only_new, everything]),
    "windows": ("windows", [only_the_last, with_their_ends]),
    "late": ("late", [at_once, forgetful, lambda batches, delay: []]),
    "exactly_once": ("publish", [only_again, by_value, all_or_nothing, of_all_epochs]),
}


@pytest.mark.parametrize("name", CODE)
def test_code_is_taken_if_it_is_right(name: str) -> None:
    exercise, answers = getattr(lab("streams.exercises"), name), lab("answers.streams")
    answer, wrong = CODE[name]
    for code in wrong:
        outcome = exercise().run(code)
        assert not outcome.passed, code
        assert repr(outcome).startswith("Not yet: ")
    assert exercise().run(getattr(answers, answer)).passed


# -- on the cluster --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster: Cluster = lab("streams.stand").cluster()
    yield cluster
    cluster.stop()


def remade(cluster: Cluster, settings: dict[str, str], records: Any) -> None:
    """The topic anew, with these records."""
    stand = lab("streams.stand")
    cluster.admin.create_topic("seats", 1, 1, settings)
    stand.send(cluster, "seats", records)


def test_a_topic_that_is_a_table(cluster: Cluster) -> None:
    exercises = lab("streams.exercises")
    past = [("Mei", "terrace"), ("Tom", "garden"), ("Lisi", "window"), ("Tom", "bar")]
    compact = {"cleanup.policy": "compact"}
    assert exercises.seats(cluster).missing == "there is no topic seats"
    for settings, records, why in (
        ({}, [*past, ("Lisi", None)], "seats is not compacted"),
        (compact, past, "Lisi is still at the window"),
        (compact, [("Mei", "terrace"), ("Tom", "bar")], "Tom was never in the garden"),
    ):
        remade(cluster, settings, records)
        check = exercises.seats(cluster)
        until(lambda check=check, why=why: check.check() or check.missing == why)
        assert not check.passed
        cluster.admin.delete_topic("seats")
        until(lambda: not any(it.topic == "seats" for it in cluster.state().partitions))
    check = exercises.seats(cluster)
    lab("answers.streams").seats(cluster)
    until(check.check)


def test_the_answer_brings_a_table_back_and_a_wrong_one_is_kept_from_it(cluster: Cluster) -> None:
    restore = lab("streams.exercises").restore
    back = restore(cluster, lab("answers.streams").fold)
    assert [row[2] for row in back.rows] == [True, True]
    assert "not yet" in repr(restore(cluster, falsy_is_gone))


# -- in SQL, by a table that stands in for Spark's -------------------------------------------


class Sql:
    """What `thirsty` asks of a Spark session, answered by SQLite."""

    def __init__(self) -> None:
        self.base = sqlite3.connect(":memory:")
        self.found: list[Any] = []

    def createDataFrame(self, rows: Any, schema: str) -> "Sql":
        self.base.executescript(
            "DROP TABLE IF EXISTS orders; CREATE TABLE orders (guest, tea, cups)"
        )
        self.base.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        return self

    def createOrReplaceTempView(self, name: str) -> None:
        assert name == "orders"

    def sql(self, words: str) -> "Sql":
        self.found = self.base.execute(words).fetchall()
        return self

    def collect(self) -> Any:
        return self.found


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("SELECT guest, cups FROM orders WHERE tea = 'oolong'", "it finds"),
        ("SELECT guest, sum(cups) AS n FROM orders GROUP BY guest ORDER BY n DESC", "it finds"),
        ("SELECT guest, sum(cups) FROM orders WHERE tea = 'oolong' GROUP BY 1 "
         "HAVING sum(cups) > 2 ORDER BY 2", "it finds"),
        ("SELECT", "it raises OperationalError"),
    ],
)  # fmt: skip
def test_sql_hears_what_is_wrong(words: str, why: str) -> None:
    spark = Sql()
    with closing(spark.base):
        trial = lab("streams.exercises").thirsty(spark)
        told = repr(trial.run(lambda: words))
        assert told.startswith("Not yet: ") and why in told
        assert trial.run(lab("answers.streams").thirsty).passed
