"""A quorum of controllers of both kinds: ours, and Apache Kafka 3.9.1 or 4.1.1."""

import random
import re

import pytest

from engine.cli.main import main
from engine.cluster.kafka_process import KAFKA, OURS
from tests.cluster.controllers import KAFKA_41, Controllers
from tests.interop.watch import until
from tests.limits import JVM_S
from tests.real.jars import KAFKA_4, KRAFT, check
from tests.real.kafka import tool

FAULTS, MOST_FAULTS = 10, 30
MIXES = {
    "one real": (OURS, KAFKA, OURS),
    "two real": (KAFKA, OURS, KAFKA),
    "one of 4.1": (OURS, KAFKA_41, OURS),
    "two of 4.1": (KAFKA_41, OURS, KAFKA_41),
}
TOOL = "org.apache.kafka.tools.MetadataQuorumCommand"


@pytest.fixture(scope="module", autouse=True)
def kraft_is_here():
    check(KRAFT)
    check(KAFKA_4)


@pytest.fixture(params=MIXES, ids=str)
def controllers(request, tmp_path):
    with Controllers(tmp_path, MIXES[request.param]) as controllers:
        yield controllers


@pytest.mark.timeout(4 * JVM_S)
def test_a_mixed_quorum_survives_kills_and_pauses_and_its_logs_are_alike(controllers, capsys):
    """Faults hit whoever leads, until there were ten and both kinds have led; then any node."""
    chance, led, count = random.Random(7), {controllers.leader(JVM_S)}, 0
    while count < FAULTS or {controllers.kinds[id] for id in led} != set(
        controllers.kinds.values()
    ):
        leader = controllers.leader(JVM_S)
        victim = leader if count < FAULTS - 3 else chance.choice([101, 102, 103])
        led |= fault(controllers, victim, is_leader=victim == leader, is_kill=count % 2 == 0)
        count += 1
        assert count < MOST_FAULTS, led
    assert_alike(controllers)
    assert b"metadata.version" in controllers.log(101)  # a record of the real controller
    where = ",".join(controllers.address(id) for id in controllers.kinds)
    capsys.readouterr()
    assert main(["metadata-quorum", "--bootstrap-controller", where, "describe", "--status"]) == 0
    assert re.search(r"LeaderId: +10[123]\n", capsys.readouterr().out)


def fault(controllers, victim, *, is_leader, is_kill):
    """Kill or pause a controller until the others have a leader; returns who has led since."""
    child, others = controllers.children[victim], {101, 102, 103} - {victim}
    epoch = controllers.epoch() if is_leader else controllers.epoch() - 1
    (child.kill if is_kill else child.pause)()
    meanwhile = controllers.leader(JVM_S, others, after=epoch)
    if is_kill:
        controllers.start(victim)
    else:
        child.resume()
    return {meanwhile, controllers.leader(JVM_S, after=epoch)}


def assert_alike(controllers):
    """What is in a log now is in all of them soon, at the same bytes."""
    size = max(len(controllers.log(id)) for id in controllers.kinds)

    def alike():
        logs = {controllers.log(id)[:size] for id in controllers.kinds}
        return len(logs) == 1 and len(*logs) == size

    until(alike, JVM_S)


def test_both_tools_describe_a_quorum_of_ours_alike(tmp_path, capsys):
    with Controllers(tmp_path, config=["metadata.max.idle.interval.ms=0"]) as controllers:
        controllers.leader(JVM_S)

        def described(what):
            capsys.readouterr()
            where = "--bootstrap-controller", controllers.address(101), "describe", what
            assert main(["metadata-quorum", *where]) == 0
            return capsys.readouterr().out

        until(lambda: re.search("MaxFollowerLag: +0", described("--status")))  # all have fetched
        for what in ("--status", "--replication"):
            where = "--bootstrap-controller", controllers.address(101), "describe", what
            ours, theirs = described(what), tool(TOOL, *where, folder=KRAFT.folder)
            assert theirs.code == 0, theirs
            assert without_times(ours) == without_times(theirs.out)


def without_times(text):
    """Milliseconds, and the blanks that depend on the length of a number, left out."""
    return re.sub(r"\d{13}|(?<=TimeMs:) *\d+", "T", re.sub(r" *\t", "\t", text))
