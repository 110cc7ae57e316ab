"""`python -m engine chaos`: a short run is judged good, and a record that is missing is told."""

import re
import sys
from types import SimpleNamespace

import pytest

from engine.cli.main import FAILED, USAGE, main
from engine.cluster.state import PartitionState
from engine.model import TopicPartition
from proof.chaos import run, storm
from proof.chaos.disk_faults import DISKS, DRAFT
from proof.chaos.history import SendOutcome, Sent
from proof.chaos.transaction_history import TransactionEnd
from proof.chaos.transaction_workload import await_copies
from proof.chaos.wait import Late


def test_a_short_run(capsys):
    assert main(["chaos", "--seconds", "4", "--seed", "3"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("nothing wrong: ")
    assert " 0 failed" in said.out
    assert said.err.splitlines()[-1].endswith("all is healed")
    assert len(said.err.splitlines()) > 2


@pytest.mark.long
def test_a_short_run_with_an_ensemble(capsys, monkeypatch):
    monkeypatch.setattr(storm, "SERVERS", 0.8)
    assert main(["chaos", "--seconds", "6", "--seed", "5", "--zookeepers", "3"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("nothing wrong: ")
    assert "zookeeper-" in said.err


@pytest.mark.advanced
def test_a_short_run_with_transactions(capsys, tmp_path):
    path = tmp_path / "history.edn"
    words = ["--transactions", "--seconds", "6", "--seed", "3", "--history", str(path)]
    assert main(["chaos", *words]) == 0
    said = capsys.readouterr()
    assert re.search(r"; [1-9]\d* random transactions \([1-9]\d* ok", said.out)
    lines = path.read_text().splitlines()
    assert [line.split()[1] for line in lines] == [str(number) for number in range(len(lines))]
    assert all(line.startswith("{:index ") and line.endswith("]}") for line in lines)
    times = [int(re.search(r":time (\d+)", line)[1]) for line in lines]
    assert times == sorted(times)
    assert re.match(r"nothing wrong: \d+ transactions \(\d+ unknown, [1-9]\d* committed", said.out)
    assert said.err.splitlines()[-1].endswith("all is healed")


@pytest.mark.long
@pytest.mark.timeout(600)
def test_ends_of_transactions_that_come_late_do_harm_and_are_told(capsys):
    """As in Kafka 2.8; a run without them has nothing to tell. One run in thousand may be lucky."""
    words = ["chaos", "--transactions", "--late", "--seconds", "30"]
    codes = (main([*words, "--seed", str(seed)]) for seed in range(4))
    assert FAILED in codes
    harm = r"^  (G1a|half|lost-write|unseen|precommitted-read): .*transaction"
    assert re.search(harm, capsys.readouterr().out, re.M)


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_run_on_the_way_to_sasl_ssl(capsys, monkeypatch):
    """Nine restarts with other listeners, faults between them, clients of both protocols."""
    judged = []

    class Judged(run.ChaosWorkload):
        def verdict(self):
            judged.append(self.history)
            return super().verdict()

    monkeypatch.setattr(run, "ChaosWorkload", Judged)
    assert main(["chaos", "--switch", "--seconds", "5", "--seed", "3"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("nothing wrong: ")
    steps = re.findall(r"restart (\d): (\w+)", said.err)
    assert steps == [(each, step) for step in ("both", "inside", "closed") for each in "123"]
    (history,) = judged
    acknowledged = {
        it.writer for it in history.sent.values() if it.outcome is SendOutcome.ACKNOWLEDGED
    }
    assert acknowledged == {"writer-1", "writer-SASL_SSL"}
    assert all(history.seen[reader] for reader in ("the follower", "reader-SASL_SSL"))


@pytest.mark.long
def test_half_a_transaction_is_told(capsys, monkeypatch):
    """The judge of a real run hears of one value more than the cluster has."""

    def blow(work, *_):
        work.advance()
        with_values = (it for it in work.copiers.history.transactions.values() if it.values)
        next(it for it in with_values if it.end is TransactionEnd.COMMITTED).values.add(b"lost")
        return []

    monkeypatch.setattr(run, "blow", blow)
    assert main(["chaos", "--transactions", "--brokers", "1"]) == FAILED
    out = capsys.readouterr().out
    assert out.startswith("1 half: ")
    assert "which is committed" in out


class Servers:
    """A cluster of which only the ZooKeeper servers are asked; it writes down what is done."""

    def __init__(self, count):
        self.metadata_servers = [f"zookeeper-{number}" for number in range(1, count + 1)]
        self.brokers = []
        self.harmed = set()
        self.cut_from = set()

    def kill(self, server):
        self.harmed.add(server)

    pause = kill

    def resume(self, server):
        self.harmed.discard(server)

    def restart(self, server, *, wait):
        self.harmed.add(server)  # until it has joined again

    def cut(self, one, other):
        self.harmed.add(one)

    def heal(self):
        self.harmed.clear()

    def child(self, server):
        return self

    alive, paused = True, False


@pytest.mark.parametrize("fault", ["disk full", "disk unsafe"])
def test_a_disk_on_which_a_checkpoint_is_being_written_is_not_broken_now(
    fault, tmp_path, monkeypatch
):
    monkeypatch.setattr(storm, "FAULTS", {fault: storm.FAULTS[fault]})
    child = SimpleNamespace(alive=True, paused=False)
    cluster = SimpleNamespace(
        brokers=[1], metadata_servers=[], child=lambda _: child, directory=lambda _: tmp_path
    )
    drafts = [tmp_path / disk / DRAFT for disk in DISKS]
    for draft in drafts:
        draft.parent.mkdir()
        draft.write_text("0")
    faults = storm.FaultStorm(cluster, 1)
    assert faults.harm() == "" and not faults.damaged
    for draft in drafts:
        draft.unlink()
    assert faults.harm() == f"{fault} 1" and faults.damaged


@pytest.mark.parametrize("count", [2, 3, 5])
def test_most_servers_of_an_ensemble_are_well_except_for_a_moment(count, monkeypatch):
    monkeypatch.setattr(storm, "SERVERS", 1.0)
    moments = []
    monkeypatch.setattr(storm.time, "sleep", moments.append)
    cluster, most, found = Servers(count), count // 2 + 1, set()
    faults = storm.FaultStorm(cluster, 7)
    for turn in range(200):
        found.add(faults.harm().partition(" ")[0])
        assert count - len(cluster.harmed) >= most
        if turn % 5 == 4:
            faults.heal()
    assert found >= ({"kill", "pause", "restart", "isolate"} if count > 2 else {"pause"})
    assert moments and max(moments) < 2.0  # zookeeper.session.timeout.ms of a run


@pytest.mark.advanced
@pytest.mark.parametrize("seconds", ["12", pytest.param("60", marks=pytest.mark.long)])
def test_damaged_files_are_rebuilt_or_offline_and_every_record_is_on_the_others(
    seconds, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(storm, "FAULTS", {storm.ROT: storm.FAULTS[storm.ROT]})
    monkeypatch.setitem(run.IN_BOTH, "log.segment.bytes", "20000")
    assert main(["chaos", "--seconds", seconds, "--seed", "3", "--data", str(tmp_path)]) == 0
    assert "rot " in capsys.readouterr().err
    told = "".join(path.read_text() for path in tmp_path.glob("broker-*/broker.log"))
    assert "partition.offline {'topic': 'chaos', 'partition': 0" in told
    assert "index.rebuilt {'topic': 'chaos', 'partition': 1" in told
    assert "log.cut" not in told
    assert list(tmp_path.glob("broken-*-chaos-0"))


@pytest.mark.parametrize(
    ("leader", "isr", "flipped"),
    [(1, (1, 2), True), (1, (1, 2, 3), False), (3, (3,), False), (-1, (3,), False)],
)
def test_files_are_damaged_only_where_others_have_all_of_them(
    leader, isr, flipped, tmp_path, monkeypatch
):
    """Broker 3 was asked to stop: it has left the ISR, unless it was the last one in sync."""
    monkeypatch.setattr(storm, "MOVED", 0.0)
    log = tmp_path / "orders-0"
    log.mkdir()
    for number in range(2):
        for suffix in (".log", ".index"):
            (log / f"{number:020d}{suffix}").write_bytes(bytes(100))
    partition = PartitionState(leader, 1, isr, (1, 2, 3), {}, {})
    cluster = SimpleNamespace(
        stop_broker=lambda broker: 0,
        directory=lambda broker: tmp_path,
        state=lambda: SimpleNamespace(partitions={TopicPartition("orders", 0): partition}),
    )
    storm.rot(cluster, 3)
    assert any(map(any, (path.read_bytes() for path in log.iterdir()))) == flipped


DISK_ERRORS = {
    "disk gone": "Not a directory",
    "disk full": "No space left on device",
    "disk unsafe": "Invalid argument",
}


@pytest.mark.advanced
@pytest.mark.parametrize(
    "fault",
    ["disk gone", *(pytest.param(it, marks=pytest.mark.long) for it in [*DISK_ERRORS][1:])],
)
def test_a_disk_fails_and_every_record_is_on_the_others(fault, capsys, monkeypatch, tmp_path):
    """Nothing but one disk at a time fails; its broker goes on, and gets it back."""
    assert DISK_ERRORS.keys() == storm.DISK_FAULTS.keys()
    monkeypatch.setattr(storm, "FAULTS", {fault: storm.FAULTS[fault]})
    assert main(["chaos", "--seconds", "5", "--seed", "5", "--data", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("nothing wrong: ")
    assert f"{fault} " in said.err
    told = "".join(path.read_text() for path in tmp_path.glob("broker-*/broker.log"))
    assert re.search(rf"directory\.offline .*{DISK_ERRORS[fault]}", told)
    assert "all log dirs have failed" not in told


def test_copiers_may_be_far_behind_as_long_as_they_get_on():
    steps = iter(range(1000))
    await_copies(lambda: {0: next(steps) // 10}, {0: 20}, patience=5.0)
    assert next(steps) == 201
    with pytest.raises(Late, match=r"that the copies, at \{0: 7\}, end at \{0: 8\}: still not so"):
        await_copies(lambda: {0: 7}, {0: 8}, patience=0.05)


def test_what_is_lost_is_told_with_its_offset(capsys, monkeypatch):
    def blow(work, *_):
        work.advance()
        lost = Sent(
            "writer-9", 1, 0, at=0.0, outcome=SendOutcome.ACKNOWLEDGED, answered=0.1, offset=3
        )
        work.history.add(lost)
        return []

    monkeypatch.setattr(run, "blow", blow)
    assert main(["chaos", "--brokers", "1"]) == FAILED
    out = capsys.readouterr().out
    assert out.startswith("1 lost: ")
    assert "writer-9 #0 in partition 1 was acknowledged at offset 3, where now is writer-1" in out


def test_without_the_stock_client_it_says_what_to_install(capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "proof.chaos.run")
    monkeypatch.delattr("proof.chaos.run")
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.setitem(sys.modules, "confluent_kafka.cimpl", None)
    assert main(["chaos"]) == USAGE
    assert "pip install confluent-kafka" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seconds", "0"], "chaos needs a broker or more, and some seconds"),
        (["--brokers", "0"], "chaos needs a broker or more, and some seconds"),
        (["--switch", "--brokers", "1"], "--switch needs two brokers or more"),
        (["--switch", "--transactions"], "goes without --transactions"),
        (["--history", "history.edn"], "they need --transactions"),
        (["--late"], "they need --transactions"),
        (["--data", "."], ". is not empty: it may contain another cluster"),
    ],
)
def test_what_makes_no_sense_is_refused(capsys, words, said):
    assert main(["chaos", *words]) == USAGE
    assert said in capsys.readouterr().err
