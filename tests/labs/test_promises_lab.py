"""07_promises: what would change its verdicts, and its exercises."""

from collections.abc import Callable, Iterator
from importlib import import_module as lab
from typing import Any

import pytest
from nbformat import NotebookNode

from engine import Cluster, Consumer, Producer, TopicPartition
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.mutants_07 import MUTANTS
from tests.labs.reader import LABS, Reader

pytestmark = pytest.mark.advanced
LAB = LABS / "07_promises.ipynb"
SIMULATED = {  # what needs no cluster
    "acks": ("acks-predict", "acks", "acks-outcome", "acks-storm", "acks-alone", "acks-verdict")
}


def test_a_section_in_simulated_time_shows_what_is_saved(reader: Reader) -> None:
    reader.check_sections(SIMULATED)


@pytest.mark.parametrize("mutant", parameters(MUTANTS))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


def test_a_late_request_commits_half_unless_a_new_session_has_begun(shared: Reader) -> None:
    """The section shows what the notebook has; without the new session the half is there again."""
    for name in ("late-predict", "late-clients", "late-run", "late-outcome", "late-answer"):
        shared.run(shared.cell(name))
    fenced = shared.cell("late-fenced")
    assert repr(shared.run(fenced)[1]) == fenced.outputs[0].data["text/plain"]
    half = [["order 1", "order 2"], ["bill 1"]]
    assert shared.names["half"] == half
    line = "producer = till(name)  # change me: leave this line out\n"
    assert fenced.source.count(line) == 1
    changed = NotebookNode(fenced, source=fenced.source.replace(line, ""))
    *_, (_, answered, orders, bills) = shared.run(changed)[1]
    assert (answered, [orders, bills]) == ("NONE", half)


# -- the exercises -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running(labs_can_be_imported: None) -> Iterator[Callable[[], Cluster]]:
    """The lab's cluster; it is mended by whoever asks for it."""
    cluster = lab("delivery.shared").cluster
    yield cluster
    cluster().stop()


def test_a_reader_waits_for_the_markers_that_follow_a_commit(
    running: Callable[[], Cluster],
) -> None:
    cluster, committed = running(), {"isolation_level": "read_committed"}
    topic = cluster.topic("bills")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, "two teas")
    producer.flush()
    for one, other in ((1, 2), (1, 3), (2, 3)):
        cluster.slow(one, other, ms=1000)
    producer.commit_transaction()
    assert cluster.read(topic, **committed) == []
    lab("delivery.shared").await_markers(cluster)
    assert cluster.read(topic, **committed) == ["two teas"]


def with_two_commits(consumer: Any, database: Any, topic: str) -> None:
    ((place,),) = database.execute("SELECT next FROM place").fetchall()
    consumer.assign([TopicPartition(topic, 0, place)])
    while not (message := consumer.poll()).error():
        with database:
            database.execute("UPDATE place SET next = ?", [message.offset() + 1])
        with database:
            database.execute("INSERT INTO results VALUES (?)", [message.value().decode()])


def without_the_offset(consumer: Any, producer: Any, source: str, target: str) -> None:
    producer.init_transactions()
    consumer.assign([TopicPartition(source, 0)])
    while not (message := consumer.poll()).error():
        producer.begin_transaction()
        producer.produce(target, message.value())
        producer.commit_transaction()


def from_the_beginning(consumer: Any, topic: str, time: int) -> None:
    consumer.assign([TopicPartition(topic, number, 0) for number in (0, 1, 2)])


def without_what_is_new(consumer: Any, topic: str, time: int) -> None:
    """The third partition has no such record yet, and is left out."""
    times = [TopicPartition(topic, number, time) for number in (0, 1, 2)]
    consumer.assign([it for it in consumer.offsets_for_times(times) if it.offset >= 0])


WRONG: dict[str, dict[str, Callable[..., Any]]] = {
    "settings": {
        "some are lost, some are there twice": lambda: {"acks": "1"},
        "some are there twice": lambda: {"acks": "all"},
        "no producer takes these settings": lambda: {"acks": "7"},
    },
    "stored_once": {
        ", it leaves one coffee": with_two_commits,
        "killed at call 1 and begun again, it raises TypeError": lambda: None,
        "killed at call 1, it leaves nothing": lambda consumer, database, topic: None,
    },
    "copied_once": {"it leaves two teas and two teas": without_the_offset},
    "since": {
        "the record '-1000' of partition 0 is read, and is too old": from_the_beginning,
        "the record 'new' of partition 2 is not read": without_what_is_new,
    },
}


def wrong_ones() -> Iterator[Any]:
    """For each exercise one in `make test`, and the others in `make long`."""
    for name, given in WRONG.items():
        for number, (words, wrong) in enumerate(given.items()):
            marks = [pytest.mark.long] if number else []
            yield pytest.param(name, wrong, words, id=f"{name}-{number}", marks=marks)


@pytest.mark.parametrize("name", WRONG)
def test_an_exercise_takes_the_answer(running: Callable[[], Cluster], name: str) -> None:
    exercise = getattr(lab("delivery.promises_exercises"), name)
    assert exercise(running).run(getattr(lab("answers.promises"), name)).passed


class SlowConsumer:
    """One that gets nothing the first three times, as on a machine that is busy."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer, self._left = consumer, 3

    def consume(self, number: int, seconds: float) -> list[Any]:
        self._left -= 1
        return [] if self._left >= 0 else self._consumer.consume(number, seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)


def test_records_that_come_late_are_not_missing(
    running: Callable[[], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    exercises = lab("delivery.promises_exercises")
    made = exercises._consumer
    monkeypatch.setattr(exercises, "_consumer", lambda *where: SlowConsumer(made(*where)))
    assert exercises.since(running).run(lab("answers.promises").since).passed


@pytest.mark.parametrize(("name", "wrong", "words"), [*wrong_ones()])
def test_an_exercise_takes_no_other(
    running: Callable[[], Cluster], name: str, wrong: Callable[..., Any], words: str
) -> None:
    outcome = getattr(lab("delivery.promises_exercises"), name)(running).run(wrong)
    assert not outcome.passed
    assert words in outcome.words
