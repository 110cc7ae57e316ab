"""The command line against three brokers: spread, elections, and partitions that move."""

import re
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from engine.cluster.cluster import Cluster
from tests.interop.raw import Raw
from tests.interop.shell import Running, Shell
from tests.limits import CHANGE_S, WIDE_SESSION_MS
from tests.modes import made, mode_of
from tests.unit.cli.pretend import written

_numbers = count()


class At(NamedTuple):
    leader: str
    replicas: str
    isr: set[str]


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    config = {"zookeeper.session.timeout.ms": WIDE_SESSION_MS}
    with made(3, mode_of(request), config=config) as cluster:
        yield cluster


@pytest.fixture
def shell(cluster: Cluster) -> Shell:
    return Shell(Running(cluster.bootstrap, "", cluster.data))


@pytest.fixture
def topic(cluster: Cluster, shell: Shell) -> Callable[[str], str]:
    """Creates a topic with these replicas, the first ones leading, all in sync.

    Every broker has heard of it: a controller that is killed right now may have told only some.
    """

    def create(replicas: str) -> str:
        name = f"placed-{next(_numbers)}"
        shell.out("topics", "--create", "--topic", name, "--replica-assignment", replicas)
        until(lambda: not shell.out("topics", "--describe", "--under-replicated-partitions"))
        known_everywhere(cluster, name)
        return name

    return create


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + CHANGE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def known_everywhere(cluster: Cluster, topic: str) -> None:
    """Before it, a command may ask a broker that has not heard of the topic yet."""
    until(lambda: all(knows(each, topic) for each in cluster.bootstrap.split(",")))


def knows(broker: str, topic: str) -> bool:
    with Raw(broker) as client:
        return not client.topics(topic)[0].error_code


def described(shell: Shell, topic: str) -> list[At]:
    """While a controller is being elected, the command says on stderr that it waits."""
    done = shell.run("topics", "--describe", "--topic", topic)
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()[1:]
    found = [re.search(r"Leader: (\S+)\tReplicas: (\S+)\tIsr: (\S*)", line) for line in lines]
    return [At(each[1], each[2], set(each[3].split(","))) for each in found if each]


def move(topic: str, *replicas: int) -> dict[str, object]:
    return {"partitions": [{"topic": topic, "partition": 0, "replicas": replicas}]}


def elect(shell: Shell, kind: str, topic: str) -> str:
    options = ("--election-type", kind, "--topic", topic, "--partition", "0")
    return shell.out("leader-election", *options)


def test_replicas_are_spread_and_a_topic_grows_round_the_same_ring(
    cluster: Cluster, shell: Shell, topic: Callable[[str], str]
) -> None:
    count = ("--partitions", "6", "--replication-factor", "3")
    shell.out("topics", "--create", "--topic", "spread", *count)
    known_everywhere(cluster, "spread")
    spread = described(shell, "spread")
    assert sorted(each.leader for each in spread) == ["1", "1", "2", "2", "3", "3"]
    assert all(sorted(each.replicas.split(",")) == ["1", "2", "3"] for each in spread)

    grown = topic("1:2,2:3,3:1")
    shell.out("topics", "--alter", "--topic", grown, "--partitions", "5")
    until(lambda: len(described(shell, grown)) == 5)  # another broker may answer, a little later
    assert [each.replicas for each in described(shell, grown)] == [
        "1,2",
        "2,3",
        "3,1",
        "1,3",
        "2,1",
    ]


def test_a_broker_that_was_away_is_given_back_what_it_led(
    cluster: Cluster, shell: Shell, topic: Callable[[str], str]
) -> None:
    orders = topic("1:2:3")
    cluster.kill(1)
    until(lambda: described(shell, orders)[0].leader == "2")
    assert f"Topic: {orders}\t" in shell.out(
        "topics", "--describe", "--under-replicated-partitions"
    )
    assert shell.out("topics", "--describe", "--unavailable-partitions") == ""
    back = ("--election-type", "preferred", "--topic", orders, "--partition", "0")
    assert shell.error("leader-election", *back) == (1, "1 replica(s) could not be elected")

    cluster.restart(1)
    until(lambda: described(shell, orders)[0].isr == {"1", "2", "3"})
    assert described(shell, orders)[0].leader == "2"
    assert elect(shell, "preferred", orders) == (
        f"Successfully completed leader election (PREFERRED) for partitions {orders}-0\n"
    )
    assert described(shell, orders)[0].leader == "1"
    assert elect(shell, "preferred", orders) == (
        f"Valid replica already elected for partitions {orders}-0\n"
    )
    everything = ("leader-election", "--election-type", "preferred", "--all-topic-partitions")
    shell.out(*everything)
    assert shell.out(*everything) == ""


@pytest.mark.long  # the elections are in tests/cluster/test_stories_comeback.py
def test_who_is_not_in_sync_may_lead_when_somebody_says_so(
    cluster: Cluster, shell: Shell, topic: Callable[[str], str]
) -> None:
    orders = topic("3:2")
    cluster.kill(2)
    until(lambda: described(shell, orders)[0].isr == {"3"})
    cluster.kill(3)
    until(lambda: described(shell, orders)[0].leader == "none")
    cluster.restart(2)
    lost = f"Topic: {orders}\tPartition: 0\tLeader: none"
    assert lost in shell.out("topics", "--describe", "--unavailable-partitions")
    assert lost in shell.out("topics", "--describe", "--under-min-isr-partitions")
    assert elect(shell, "unclean", orders) == (
        f"Successfully completed leader election (UNCLEAN) for partitions {orders}-0\n"
    )
    assert described(shell, orders)[0] == At("2", "3,2", {"2"})
    assert f"Topic: {orders}\t" in shell.out("topics", "--describe", "--at-min-isr-partitions")
    cluster.restart(3)
    until(lambda: described(shell, orders)[0].isr == {"2", "3"})


def test_a_partition_moves_with_its_records(
    shell: Shell, topic: Callable[[str], str], tmp_path: Path
) -> None:
    orders = topic("1:2")
    shell.out("console-producer", "--topic", orders, stdin=b"one\ntwo\n")
    file = ("--reassignment-json-file", written(tmp_path, move(orders, 3, 2)))
    began = shell.out("reassign-partitions", "--execute", *file, "--throttle", "1000000")
    assert f'"topic":"{orders}","partition":0,"replicas":[1,2]' in began
    assert began.endswith(f"Successfully started partition reassignment for {orders}-0\n")

    done = f"Reassignment of partition {orders}-0 is complete.\n"
    until(lambda: done in shell.out("reassign-partitions", "--verify", *file))
    assert described(shell, orders) == [At("3", "3,2", {"2", "3"})]
    assert shell.out("reassign-partitions", "--list") == "No partition reassignments found.\n"
    for kind, name in (("topics", orders), ("brokers", "1"), ("brokers", "3")):
        options = ("--entity-type", kind, "--entity-name", name)
        assert "throttled" not in shell.out("configs", "--describe", *options)
    read = ("console-consumer", "--topic", orders, "--from-beginning", "--max-messages", "2")
    assert shell.out(*read) == "one\ntwo\n"


def test_a_move_that_gets_nowhere_is_called_off(
    cluster: Cluster, shell: Shell, topic: Callable[[str], str], tmp_path: Path
) -> None:
    orders = topic("1:2")
    file = ("--reassignment-json-file", written(tmp_path, move(orders, 3, 2)))
    cluster.cut(1, 3)  # from whom the new replica is to copy
    shell.out("reassign-partitions", "--execute", *file, "--throttle", "1000000")
    listed = f"{orders}-0: replicas: 3,2,1. adding: 3. removing: 1.\n"
    assert shell.out("reassign-partitions", "--list").endswith(listed)
    moving = f"Reassignment of partition {orders}-0 is still in progress.\n"
    assert moving in shell.out("reassign-partitions", "--verify", *file)
    shown = shell.out("topics", "--describe", "--topic", orders)
    assert "\tReplicationFactor: 2\t" in shown
    assert "\tAdding Replicas: 3\tRemoving Replicas: 1\n" in shown
    throttled = ("configs", "--describe", "--entity-type", "topics", "--entity-name", orders)
    assert "follower.replication.throttled.replicas=0:3" in shell.out(*throttled)
    assert (
        "there is an existing partition assignment"
        in shell.error("reassign-partitions", "--execute", *file)[1]
    )

    cancelled = shell.out("reassign-partitions", "--cancel", *file)
    assert cancelled.startswith(f"Successfully cancelled partition reassignment for: {orders}-0\n")
    assert "throttled" not in shell.out(*throttled)
    cluster.heal()
    until(lambda: described(shell, orders) == [At("1", "2,1", {"1", "2"})])  # as the move had it
    assert shell.out("reassign-partitions", "--list") == "No partition reassignments found.\n"


def test_what_is_generated_can_be_executed(
    shell: Shell, topic: Callable[[str], str], tmp_path: Path
) -> None:
    orders = topic("1:2,2:1")
    wanted = written(tmp_path, {"topics": [{"topic": orders}]})
    generate = ("--generate", "--topics-to-move-json-file", wanted, "--broker-list", "2,3")
    proposed = shell.out("reassign-partitions", *generate).splitlines()[-1]
    file = ("--reassignment-json-file", written(tmp_path, proposed))
    shell.out("reassign-partitions", "--execute", *file)
    until(lambda: " is still " not in shell.out("reassign-partitions", "--verify", *file))
    assert {each.replicas for each in described(shell, orders)} == {"2,3", "3,2"}


def test_what_the_controller_refuses(
    shell: Shell, topic: Callable[[str], str], tmp_path: Path
) -> None:
    orders = topic("1:2")
    for content, told in (
        (move(orders, 1, 9), "Unknown broker id 9"),
        (move("nowhere", 1), "there is no topic nowhere in this cluster"),
        (
            {"partitions": [{"topic": orders, "partition": 7, "replicas": [1]}]},
            f"Error reassigning partition(s): {orders}-7: The partition does not exist.",
        ),
    ):
        file = ("--reassignment-json-file", written(tmp_path, content))
        status, line = shell.error("reassign-partitions", "--execute", *file)
        assert (status, told in line) == (1, True)
