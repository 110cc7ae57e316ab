"""08_speed: its exercises, and what would change its verdicts."""

import os
from collections.abc import Callable, Iterator
from importlib import import_module as lab
from typing import Any

import pytest

from engine import Cluster
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.mutants_08 import MUTANTS
from tests.labs.reader import LABS, Reader

pytestmark = pytest.mark.advanced
LAB = LABS / "08_speed.ipynb"
long = pytest.mark.long


@pytest.mark.parametrize("mutant", parameters(MUTANTS))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


def test_a_guess_is_answered(shared: Reader) -> None:
    shared.through("codec-predict")
    shared.names["guess"].choose("1 Fewer than 50 bytes")
    shared.through("codec-small")
    assert shared.run(shared.cell("codec-outcome"))[1].right is False


def test_a_file_that_is_closed_while_others_are_looked_at_is_left_out() -> None:
    """The directory of descriptors is itself open while it is listed."""
    with open(__file__, "rb"):
        assert __file__ in lab("speed.shared").open_files(os.getpid())


# -- the exercises -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    cluster: Cluster = lab("speed.shared").cluster()
    yield cluster
    cluster.stop()


def alone(send: Callable[[list[int]], object], sizes: list[int], limit: int) -> None:
    for size in sizes:
        send([size])


def all_at_once(send: Callable[[list[int]], object], sizes: list[int], limit: int) -> None:
    send(sizes)


def without_the_rest(send: Callable[[list[int]], object], sizes: list[int], limit: int) -> None:
    lab("answers.speed").batched(send, sizes[:-1], limit)


def sorted_first(send: Callable[[list[int]], object], sizes: list[int], limit: int) -> None:
    lab("answers.speed").batched(send, sorted(sizes), limit)


WRONG: dict[str, list[Callable[..., Any]]] = {
    "batched": [alone, all_at_once, without_the_rest, sorted_first, lambda: None],
    "codec_of": [len, lambda batch: "lz4", lambda batch: ("none", "gzip")[batch[22] & 1]],
}


@pytest.mark.parametrize("name", WRONG)
def test_an_exercise_in_code_takes_the_answer_and_no_other(name: str) -> None:
    exercise = getattr(lab("speed.exercises"), name)
    assert exercise().run(getattr(lab("answers.speed"), name)).passed
    for code in WRONG[name]:
        outcome = exercise().run(code)
        assert not outcome.passed
        assert outcome.words.startswith("Not yet: ")


SETTINGS: dict[str, list[dict[str, Any]]] = {
    "fewest": [{"compression.type": "zstd"}, {"linger.ms": 2000}],
    "meets": [{"linger.ms": 2000}, {"batch.size": 1}],
}


@pytest.mark.parametrize(
    "busy", ["p99 is 2620 ms", "there were 41 requests for all of 400 records: not ten in each"]
)
def test_a_stream_of_a_busy_machine_is_measured_again(
    monkeypatch: pytest.MonkeyPatch, busy: str
) -> None:
    exercises = lab("speed.exercises")
    said = iter([busy, "", "not asked"])
    monkeypatch.setattr(exercises, "_meets", lambda cluster, code: next(said))
    assert exercises.meets(lambda: None).run(dict).passed
    assert next(said) == "not asked"


@pytest.mark.parametrize("name", SETTINGS)
def test_an_exercise_on_the_cluster_takes_the_answer_and_no_other(
    name: str, running: Cluster
) -> None:
    exercise = getattr(lab("speed.exercises"), name)
    for settings in SETTINGS[name]:
        outcome = exercise(lambda: running).run(lambda settings=settings: settings)
        assert outcome.words.startswith("Not yet: ")
    assert exercise(lambda: running).run(getattr(lab("answers.speed"), name)).passed


# -- partitions, and the slow reader ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("partitions", "told"),
    [
        (1, "Not yet: after 4 rounds 1,200 orders wait: one reader got 400 in a round"),
        pytest.param(
            4, "Not yet: after 4 rounds 52 orders wait: one reader got 112 in a round", marks=long
        ),
        pytest.param(7, "Not yet: after 4 rounds 79 orders wait", marks=long),
        pytest.param(
            64,
            "Not yet: the readers keep up, but a batch holds 6 orders on average, not 20",
            marks=long,
        ),
        ("six", "Not yet: it gives 'six', and not a whole number from 1 to 100"),
        (0, "Not yet: it gives 0, and not"),
    ],
)
def test_a_number_of_partitions_is_judged_by_what_readers_leave_and_by_batches(
    running: Cluster, partitions: object, told: str
) -> None:
    outcome = lab("speed.exercises").enough(lambda: running).run(lambda: partitions)
    assert not outcome.passed
    assert outcome.words.startswith(told)


def test_as_many_partitions_as_readers_are_enough_and_so_are_two_for_each(running: Cluster) -> None:
    for answer in (lab("answers.speed").enough, lambda: 12):
        assert lab("speed.exercises").enough(lambda: running).run(answer).passed


BEN, DORA, ANNA = ("ben", "dora", "anna")
LARGER, AT_ONCE = {"max.partition.fetch.bytes": 30_000}, {"fetch.min.bytes": 1}


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([(ANNA, LARGER)], "in case 1, with your setting for anna, ben still needs many more"),
        ([(BEN, AT_ONCE)], "in case 1, with your setting for ben, ben still needs many more"),
        ([(BEN, LARGER), (DORA, LARGER)], "in case 2, with your setting for dora, the broker"),
        ([(BEN, LARGER | AT_ONCE)], "in case 1 it gives {'max.partition.fetch.bytes': 30000, "),
        ([("eva", LARGER)], "in case 1 it names 'eva', and no reader is called so"),
        ([(BEN, {"fetch.size": 1})], "in case 1 ben got KafkaException: "),
        ([()], "in case 1 it raises ValueError: "),
    ],
)
def test_a_slow_reader_is_judged_by_what_it_does_with_the_setting(
    running: Cluster, answers: list[Any], told: str
) -> None:
    """One answer for each case that is planted."""
    given = iter(answers)
    outcome = lab("speed.exercises").cures(lambda: running).run(lambda served: next(given))
    assert not outcome.passed
    assert outcome.words.startswith(f"Not yet: {told}")


def test_the_cause_is_found_in_what_the_brokers_served(running: Cluster) -> None:
    assert lab("speed.exercises").cures(lambda: running).run(lab("answers.speed").cure).passed


def test_one_answer_that_came_late_makes_no_reader_slow() -> None:
    slow_reader, row = lab("speed.slow_reader"), lab("lab").TracedPartition

    def served(**took: list[int]) -> list[Any]:
        return [row(who, "FETCH", ms, 0, 0, 9, 1) for who, each in took.items() for ms in each]

    others = {"ben": [0, 1], "carla": [1, 0], "dora": [0, 0]}
    assert slow_reader.slow(served(anna=[900, 1], **others)) == ""
    assert "holds each Fetch of anna" in slow_reader.slow(served(anna=[900, 501], **others))
    assert "anna still needs many more" in slow_reader.slow(served(anna=[0] * 7, **others))
