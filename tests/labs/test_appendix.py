"""The appendix: what would change its verdicts, and what is recorded of other brokers."""

import json
import re
from collections.abc import Iterator
from importlib import import_module as lab
from typing import Any

import pytest

from bench.brokers import features, systems
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.mutants_articles import MUTANTS as CHANGED
from tests.labs.mutants_articles_peers import MUTANTS as RECORDED
from tests.labs.reader import LABS, Reader

LAB = LABS / "articles.ipynb"
FILE = LABS / "recorded" / "peers.json"
MUTANTS = [*CHANGED, *RECORDED]


@pytest.mark.advanced
@pytest.mark.parametrize("mutant", parameters(CHANGED))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


@pytest.fixture(scope="module", autouse=True)
def nothing_is_left_running(labs_can_be_imported: None) -> Iterator[None]:
    yield
    lab("articles.books").close()


@pytest.mark.parametrize(
    ("question", "truth", "found", "words"),
    [
        ("without_broker", "was_created", True, "It is created"),
        ("which_version", "versions_were", [9, 7, 9], "The newest of both"),
        ("which_version", "versions_were", [0, 0, 0], "The oldest that it knows"),
    ],
)
def test_a_guess_is_answered_by_what_was_found(
    question: str, truth: str, found: Any, words: str
) -> None:
    questions = lab("articles.questions")
    said = getattr(questions, question)().outcome(getattr(questions, truth)(found))
    assert said.truth == words


def test_the_picture_has_the_versions_of_each_release_at_its_date() -> None:
    releases = lab("articles.releases")
    drawn = releases.timeline(lambda release: (sum(release), 2 * sum(release)), (9, 12))
    assert drawn["Fetch number (1, 0)"].content == "2"
    assert drawn["Produce words"].content == "Produce 9, this broker"
    places = [drawn[f"release {it}"].where[0] for it in sorted(releases.DATES)]
    assert places == sorted(places)


# -- other brokers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mutant", parameters(RECORDED))
def test_another_record_comes_to_another_verdict(
    reader: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(reader, mutant, monkeypatch)


def test_a_guess_about_peers_is_answered(reader: Reader) -> None:
    reader.through("peers-record", "peers-crash-predict")
    reader.names["guess"].choose("1 Nearly all")
    reader.through("peers-crash")
    assert reader.run(reader.cell("peers-crash-outcome"))[1].right is False


def test_the_record_has_what_make_peers_measures() -> None:
    record = json.loads(FILE.read_text())
    speed = {each.name: each.words for each in systems.SPEED}
    assert record["speed"]["settings"] == speed
    for numbers in record["speed"]["loads"].values():
        assert {name: len(each) for name, each in numbers.items()} == dict.fromkeys(
            speed, record["speed"]["rounds"]
        )
    for part, settings in (("crash", systems.CRASH), ("failover", systems.FAILOVER)):
        assert {name: it["words"] for name, it in record[part].items()} == {
            each.name: each.words for each in settings
        }
    assert all(tuple(it) == features.FEATURES for it in record["features"].values())


def test_the_record_does_not_say_on_which_machine() -> None:
    assert not re.search(r"localhost|127\.0|/tmp|/home", FILE.read_text())


def test_the_page_names_every_setting_that_is_recorded() -> None:
    page = (LABS.parent / "docs" / "peers.md").read_text()
    for each in (*systems.SPEED, *systems.CRASH, *systems.FAILOVER):
        assert each.name in page, each.name
