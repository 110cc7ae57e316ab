"""The exercises of 03_rebalance: each takes the answer, and refuses what is nearly one."""

import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from engine import TopicPartition, model
from engine.assignors import ASSIGNORS, sticky
from tests.interop.watch import until


@pytest.fixture(scope="module")
def lab() -> SimpleNamespace:
    """The lab's modules."""
    names = ("exercises", "stand", "team")
    found = {name: importlib.import_module(f"rebalance.{name}") for name in names}
    return SimpleNamespace(answers=importlib.import_module("answers.rebalance"), **found)


@pytest.fixture(scope="module")
def cluster(lab: SimpleNamespace) -> Iterator[Any]:
    cluster = lab.stand.cluster()
    yield cluster
    cluster.stop()


# -- on the cluster --------------------------------------------------------------------------


def test_a_group_in_which_nobody_is_idle(lab: SimpleNamespace, cluster: Any) -> None:
    exercise = lab.exercises.nobody_idle(cluster)
    assert exercise.missing == "kitchen has no members"
    with lab.team.Team(cluster, "menu", group="kitchen") as team:
        team.add("a", "b")
        team.settle()
        assert not exercise.check() and exercise.missing == "a member has 2 partitions"
        team.add("c", "d")
        team.settle()
        assert not exercise.check() and exercise.missing.startswith("1 of 4 members have nothing")
    with lab.answers.answer_1(cluster):
        assert exercise.check()


def test_a_group_that_is_put_back(lab: SimpleNamespace, cluster: Any) -> None:
    exercise = lab.exercises.put_back(cluster)
    assert exercise.missing == "audit goes on from 20"
    for group, offset in (("audit", 0), ("auditors", 5)):
        consumer = cluster.consumer({"group.id": group})
        consumer.commit(offsets=[TopicPartition("receipts", 0, offset)], asynchronous=False)
        consumer.close()
        until(lambda group=group: group in cluster.state().groups)
        assert not exercise.check()
    assert exercise.missing == "audit goes on from 0"
    lab.answers.answer_2(cluster)
    until(exercise.check)


def test_a_restart_that_nobody_notices(lab: SimpleNamespace, cluster: Any) -> None:
    exercise = lab.exercises.unnoticed(cluster)
    assert exercise.missing == "nobody has joined shop yet"
    for first, second in (({}, {}), ({"group_instance_id": "a"}, {"group_instance_id": "b"})):
        with lab.team.Team(cluster, "goods", group="shop") as team:
            team.add("a", session_timeout_ms="1000", **first)
            team.settle()
            team.leave("a")
            name = second.get("group_instance_id", "a")
            team.add(name, session_timeout_ms="1000", **second)
            team.settle()
        assert not exercise.check()
        until(lambda: not cluster.state().groups["shop"].members)
    assert "no static member came back without one" in exercise.missing
    lab.answers.answer_6(cluster)
    assert exercise.check()


def test_the_answer_serves_a_group_and_a_wrong_one_is_kept_from_it(
    lab: SimpleNamespace, cluster: Any
) -> None:
    served = lab.exercises.serve(cluster, lab.answers.answer_5)
    assert served.protocols == ["mine"]
    assert sorted(it for share in dict(served.steps)["a goes"].values() for it in share) == [
        *range(6)
    ]
    assert "mine" not in ASSIGNORS
    assert "and not each partition once" in repr(lab.exercises.serve(cluster, gives_nothing))


# -- in code ---------------------------------------------------------------------------------


def gives_nothing(members: Any, counts: Any) -> Any:
    return {member.id: () for member in members}


def keeps_all(members: Any, counts: Any) -> Any:
    """Even only if it was before."""
    shares = {member.id: list(member.owned) for member in members}
    taken = {it for share in shares.values() for it in share}
    for number in range(counts["orders"]):
        if model.TopicPartition("orders", number) not in taken:
            min(shares.values(), key=len).append(model.TopicPartition("orders", number))
    return {name: tuple(share) for name, share in shares.items()}


def of_orders_alone(members: Any, counts: Any) -> Any:
    """Right for the topic of most examples, and for no other."""
    return sticky.assign(members, {"orders": counts["orders"]})


def without_sign(group: str, partitions: int) -> int:
    value = 0
    for letter in group:
        value = (31 * value + ord(letter)) % 2**32
    return value % partitions


def of_letters(group: str, partitions: int) -> int:
    return sum(map(ord, group)) % partitions


def last_have_more(members: list[str], partitions: int) -> dict[str, list[int]]:
    size, longer = divmod(partitions, len(members))
    shares, start = {}, 0
    for place, name in enumerate(sorted(members)):
        end = start + size + (place >= len(members) - longer)
        shares[name], start = [*range(start, end)], end
    return shares


def dealt(members: list[str], partitions: int) -> dict[str, list[int]]:
    names = sorted(members)
    return {name: [*range(place, partitions, len(names))] for place, name in enumerate(names)}


CODE = {
    "home_of": ("answer_3", without_sign, of_letters),
    "by_range": ("answer_4", last_have_more, dealt),
    "few_moves": ("answer_5", ASSIGNORS["roundrobin"].assign, keeps_all),
}


@pytest.mark.parametrize("name", CODE)
def test_code_is_taken_if_it_is_right(lab: SimpleNamespace, name: str) -> None:
    answer, *wrong = CODE[name]
    for code in wrong:
        exercise = getattr(lab.exercises, name)()
        assert not exercise.run(code).passed and not exercise.passed
    exercise = getattr(lab.exercises, name)()
    assert exercise.run(getattr(lab.answers, answer)).passed and exercise.passed


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (ASSIGNORS["range"].assign, "takes 1 away from who had them, and 0 would do"),
        (ASSIGNORS["consistent-hash"].assign, "one has 5 and another 2"),
        (gives_nothing, "and not each partition once"),
        (lambda members, counts: {}, "it knows of []"),
        (lambda members, counts: 1 / 0, "raises ZeroDivisionError"),
        (of_orders_alone, "raises KeyError: 'orders'"),
        (lambda members, counts: {None: ()}, "it knows of ['None']"),
        (lambda members, counts: {"a": [model.TopicPartition("t", None)] * 2}, "it knows of"),
    ],
)
def test_an_assignor_hears_what_is_wrong(lab: SimpleNamespace, code: Any, why: str) -> None:
    assert why in repr(lab.exercises.few_moves().run(code))


def test_an_assignor_may_change_what_it_is_given(lab: SimpleNamespace) -> None:
    def emptying(members: Any, counts: Any) -> Any:
        shares = lab.answers.answer_5(members, counts)
        members.clear()
        counts.clear()
        return shares

    assert lab.exercises.few_moves().run(emptying).passed
