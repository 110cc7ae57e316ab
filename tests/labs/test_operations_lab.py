"""09_operations but for its listeners: their exercises, and what would change their verdicts."""

from collections.abc import Callable, Iterator
from importlib import import_module as lab
from typing import Any

import pytest

from engine import Cluster
from engine.client.admin.security_values import AclBinding
from engine.quotas.entity import DEFAULT, ClientQuotaEntity
from tests.labs.mutants import Mutant, check, parameters
from tests.labs.mutants_09 import MUTANTS
from tests.labs.reader import LABS, Reader

pytestmark = pytest.mark.advanced
LAB = LABS / "09_operations.ipynb"


@pytest.mark.timeout(400)
@pytest.mark.parametrize("mutant", parameters(MUTANTS))
def test_another_experiment_comes_to_another_verdict(
    shared: Reader, mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(shared, mutant, monkeypatch)


# -- the exercises -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    cluster: Cluster = lab("operations.shared").cluster()
    yield cluster
    cluster.stop()


def one_after_the_other(cluster: Cluster, topic: str) -> None:
    for broker in cluster.brokers:
        cluster.restart(broker)


def not_all(cluster: Cluster, topic: str) -> None:
    for broker in (1, 2):
        cluster.restart(broker)
        cluster.wait("all in sync", lambda: len(cluster.isr(topic)) == 3)


def by_force(cluster: Cluster, topic: str) -> None:
    for broker in cluster.brokers:
        cluster.kill(broker)
        cluster.restart(broker)
        cluster.wait("all in sync", lambda: len(cluster.isr(topic)) == 3)


def all_at_once(cluster: Cluster, topic: str) -> None:
    for broker in cluster.brokers:
        cluster.stop_broker(broker)
    for broker in cluster.brokers:
        cluster.restart(broker)


def fails(cluster: Cluster, topic: str) -> None:
    raise ValueError("no idea")


long = pytest.mark.long


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("code", "told"),
    [
        (one_after_the_other, "Not yet: for a while too few replicas were in sync"),
        pytest.param(
            all_at_once,
            "Not yet: for a while too few replicas were in sync",
            marks=long,
        ),
        pytest.param(not_all, "Not yet: broker 3 was not restarted", marks=long),
        pytest.param(by_force, "Not yet: broker 1 was killed", marks=long),
        pytest.param(fails, "Not yet: it raises ValueError: no idea", marks=long),
    ],
)
def test_a_rolling_restart_is_judged_by_the_answers_to_a_producer(
    running: Cluster, code: Callable[..., Any], told: str
) -> None:
    outcome = lab("operations.exercises").rolled(lambda: running).run(code)
    assert told in outcome.words
    assert not outcome.passed
    assert running.state().links == ()


@pytest.mark.timeout(200)
def test_who_waits_until_all_are_in_sync_has_no_write_refused(running: Cluster) -> None:
    outcome = (
        lab("operations.exercises").rolled(lambda: running).run(lab("answers.operations").rolled)
    )
    assert outcome.passed, outcome.words


TARGET = {0: [4, 2], 1: [4, 3], 2: [3, 4]}


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("move", "told"),
    [
        ((TARGET, None), "Not yet: broker 4 has copied "),
        pytest.param((TARGET, 2_000_000), "Not yet: broker 4 has copied ", marks=long),
        pytest.param((TARGET, 20_000), "Not yet: it is not done after 20 seconds", marks=long),
        pytest.param(({0: [4, 2]}, 150_000), "broker 4 gets 1 of twelve replicas", marks=long),
        pytest.param(({0: [4, 2, 1]}, 1), "Not yet: partition 0 has the replicas", marks=long),
        pytest.param((TARGET | {0: [4, 9]}, 150_000), "Unknown broker id 9", marks=long),
        pytest.param(({7: [4, 2]}, 1), "there are the partitions 0 to 5", marks=long),
        pytest.param(7, "Not yet: it raises TypeError: ", marks=long),
    ],
)
def test_a_move_is_judged_by_what_the_new_broker_copies(move: Any, told: str) -> None:
    outcome = lab("operations.exercises").moved().run(lambda placement: move)
    assert told in outcome.words
    assert not outcome.passed


@pytest.mark.timeout(200)
def test_a_throttle_between_too_much_and_too_little_moves_the_load() -> None:
    outcome = lab("operations.exercises").moved().run(lab("answers.operations").moved)
    assert outcome.passed, outcome.words


NOISY = ClientQuotaEntity(client="noisy")
NEIGHBOUR = ClientQuotaEntity(client="neighbour")


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("quotas", "told"),
    [
        ({NOISY: {"producer_byte_rate": 50_000_000}}, "noisy was never told to wait"),
        ({NOISY: {"consumer_byte_rate": 500_000}}, "noisy was never told to wait"),
        pytest.param(
            {NOISY: {"producer_byte_rate": 20_000}}, "noisy is slowed down too much: ", marks=long
        ),
        (
            {ClientQuotaEntity(client=DEFAULT): {"producer_byte_rate": 500_000}},
            "neighbour was told to wait",
        ),
        pytest.param(
            {ClientQuotaEntity(user=DEFAULT): {"producer_byte_rate": 500_000}},
            "neighbour was told to wait",
            marks=long,
        ),
        ({NOISY: {"bytes": 500_000}}, "setting the quotas raises KafkaException: "),
        (
            {NEIGHBOUR: {"producer_byte_rate": 50_000_000}, NOISY: {"bytes": 500_000}},
            "setting the quotas raises KafkaException: ",
        ),
        (7, "setting the quotas raises TypeError: "),
    ],
)
def test_quotas_are_judged_by_what_both_clients_are_told(
    running: Cluster, quotas: Any, told: str
) -> None:
    outcome = lab("operations.exercises").tame(lambda: running).run(lambda: quotas)
    assert outcome.words.startswith(f"Not yet: {told}"), outcome.words
    assert running.admin.describe_client_quotas().result() == {}


@pytest.mark.long
@pytest.mark.timeout(200)
def test_a_quota_of_the_client_id_alone_tames_it_as_far_as_it_goes(
    running: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    exercises, answer = lab("operations.exercises"), lab("answers.operations").tame
    outcome = exercises.tame(lambda: running).run(answer)
    assert outcome.passed, outcome.words
    monkeypatch.setattr(exercises, "LIMIT", 100_000)  # less than the quota
    assert "noisy still sends " in exercises.tame(lambda: running).run(answer).words


def entry(topic: str, user: str, permission: str, to: str = "all", kind: str = "literal") -> Any:
    return AclBinding("topic", topic, kind, f"User:{user}", "*", to, permission)


@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (lambda topic: [entry(topic, "bob", "deny", "write")], "alice cannot write payroll"),
        (
            lambda topic: [entry(topic, "*", "deny"), entry(topic, "alice", "allow")],
            "alice cannot write payroll",
        ),
        (lambda topic: [entry(topic, "alice", "allow", "write")], "alice cannot read payroll"),
        (lambda topic: [entry(topic, "*", "allow")], "bob can write payroll"),
        (lambda topic: [entry("*", "alice", "allow")], "bob cannot write menu"),
        (
            lambda topic: [entry(topic, "alice", "allow", kind="prefixed")],
            "bob cannot write payroll-archive",
        ),
        (lambda topic: [], "adding the entries raises TypeError: "),
    ],
)
def test_entries_are_judged_by_what_each_user_can_do(
    entries: Callable[[str], Any], told: str
) -> None:
    outcome = lab("operations.exercises").locked().run(entries)
    assert outcome.words.startswith(f"Not yet: {told}"), outcome.words


@pytest.mark.timeout(200)
def test_one_entry_that_allows_closes_a_topic_to_all_others() -> None:
    outcome = lab("operations.exercises").locked().run(lab("answers.operations").locked)
    assert outcome.passed, outcome.words
