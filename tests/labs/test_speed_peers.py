"""08_speed, section 10: what is recorded of other brokers, and what would change its verdicts."""

import json
import re

import pytest

from bench.brokers import features, systems
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.mutants_08_peers import MUTANTS
from tests.labs.reader import LABS, Reader

LAB = LABS / "08_speed.ipynb"
FILE = LABS / "recorded" / "peers.json"


@pytest.mark.parametrize("mutant", parameters(MUTANTS))
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
