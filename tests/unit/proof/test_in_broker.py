"""A learner's rules in a real broker: which can be put there, and which are told to be wrong."""

from pathlib import Path

import pytest

from engine.broker.rules import KAFKAS
from proof.challenges.guard import RuleFailure
from proof.challenges.in_broker import real_names, real_rules
from proof.challenges.table import CHALLENGES


def naive(name: str, folder: Path) -> Path:
    file = folder / f"{name}.py"
    file.write_text(CHALLENGES[name].naive)
    return file


def test_without_a_learners_rule_they_are_kafkas() -> None:
    assert real_rules({}) == KAFKAS


@pytest.mark.parametrize("name", real_names())
def test_each_rule_of_a_broker_takes_one_place(name: str, tmp_path: Path) -> None:
    rules = real_rules({name: naive(name, tmp_path)})
    differs = [part for part, it in rules._asdict().items() if it is not getattr(KAFKAS, part)]
    assert len(differs) == 1


def test_a_rule_that_is_judged_by_stories_goes_into_a_broker_too() -> None:
    assert "shrink-the-isr" in real_names()


def test_rules_of_different_parts_go_together(tmp_path: Path) -> None:
    files = {name: naive(name, tmp_path) for name in ("elect-a-leader", "truncate", "two-phases")}
    rules = real_rules(files)
    assert rules.elect is not KAFKAS.elect
    assert rules.replicas is not KAFKAS.replicas
    assert rules.transactions is not KAFKAS.transactions
    assert rules.groups is KAFKAS.groups


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["compact"], "No broker of a cluster takes the rule compact: it is judged without one"),
        (["truncate", "join-the-isr"], "The rule join-the-isr changes the replicas, as another"),
    ],
)
def test_what_does_not_go_is_told(names: list[str], told: str, tmp_path: Path) -> None:
    with pytest.raises(RuleFailure, match=told):
        real_rules({name: naive(name, tmp_path) for name in names})


def test_an_unknown_rule_is_told() -> None:
    with pytest.raises(RuleFailure, match="There is no rule quorum, only high-watermark"):
        real_rules({"quorum": Path("mine.py")})


def test_a_rule_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    file = naive("truncate", tmp_path)
    file.write_text(file.read_text() + "    def __init__(self):\n        raise ValueError(1)\n")
    with pytest.raises(RuleFailure, match="Mine cannot be made: ValueError: 1"):
        real_rules({"truncate": file})
