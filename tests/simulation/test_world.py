"""The simulated cluster: what it promises, and that its faults are those of the real one."""

from functools import cache

import pytest

from engine.errors import ErrorCode
from engine.model import NO_BROKER, TopicPartition
from engine.replication.partition import Role
from engine.replication.replica_manager import ReplicaManager
from engine.sim.client import rows_of
from engine.sim.node import machine
from engine.sim.world import World
from engine.sim.zookeeper.client import SimulatedZookeeperClient
from engine.zookeeper import znodes
from engine.zookeeper.requests import Children, Create

ORDERS, CAKES = TopicPartition("orders", 0), TopicPartition("cakes", 0)
SESSION_MS = 18_000


@pytest.fixture
def world():
    return made()


def made(seed=1, **more):
    world = World(seed, 3, **more)
    world.run(500)
    world.create("orders", [[1, 2, 3]], min_insync_replicas="2")
    assert world.until(lambda: world.leader(ORDERS) == 1)
    world.run(500)
    return world


def told(world, kind):
    return [(each.broker, each.event.data) for each in world.events if each.event.kind == kind]


def values(world, broker):
    log = world[broker].log(ORDERS)
    return [row.value for each in log.batches for row in rows_of(each.data)]


def history(seed):
    """What a seed makes of some steps: everything that can be seen of it."""
    world = made(seed, delay=(1, 9))
    world.lose(1, 2, 0.01)
    for number in range(40):
        world.client.send(ORDERS, f"{number}")
        world.run(200)
    world.kill(1)
    world.run(30_000)
    world.start(1)
    world.run(40_000)
    return world.events, dict(world.zookeeper.tree), [values(world, each) for each in (1, 2, 3)]


def test_the_same_seed_tells_the_same_story():
    assert history(3) == history(3)
    assert history(3) != history(4)


def placements(seed):
    """Where the brokers of a seed put the partitions of topics that clients ask for by name."""
    world = World(seed, 3, config={"num.partitions": "6", "default.replication.factor": "2"})
    world.run(2000)
    broker = world[1].broker
    return [broker.creation.automatic(f"topic-{number}").assignment for number in range(5)]


def test_the_same_seed_places_replicas_in_the_same_way():
    assert placements(3) == placements(3)


def test_a_bug_in_a_task_of_the_background_is_loud_under_its_own_name(monkeypatch, caplog):
    """The broker ends by the error itself, which is not taken for a disk that fails."""

    def tick(replicas):
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(ReplicaManager, "tick", tick)
    world = World(1, 1)
    with pytest.raises(ZeroDivisionError, match="a bug of ours"):
        world.run(60_000)
    ((broker, facts),) = told(world, "broker.bug")
    assert (broker, facts["error"]) == (1, "ZeroDivisionError('a bug of ours')")
    assert "a bug: BrokerServer._every" in caplog.text
    assert "in tick" in caplog.text  # the traceback


def test_waiting_for_what_does_not_come_has_an_end(world):
    began = world.now
    assert not world.until(lambda: world.leader(ORDERS) == 9, 2000)
    assert world.now == began + 2000


# -- sessions --------------------------------------------------------------------------------


def test_who_is_back_before_its_session_ends_takes_its_own_place(world):
    epoch = world[2].running.broker.replicas.broker_epoch
    world.kill(2)
    world.run(1000)
    assert "2" in world.zookeeper.ask(Children(znodes.BROKER_IDS))
    world.start(2)
    world.run(1000)
    assert world[2].running.broker.replicas.broker_epoch > epoch
    assert not told(world, "broker.refused")
    assert world.until(lambda: set(world.isr(ORDERS)) == {1, 2, 3})


def test_an_id_that_is_anothers_is_refused(world):
    other = znodes.BrokerInfo((znodes.BrokerEndPoint("PLAINTEXT", "127.0.0.1", 1),), 0)
    world.zookeeper.ask(Create(znodes.broker_path(4), other.encode(), ephemeral=True))
    world.add(4)
    world.run(1000)
    assert [data["broker"] for _, data in told(world, "broker.refused")] == [4]
    assert not world[4].is_up


def test_cut_from_zookeeper_a_leader_goes_on_until_another_is_elected(world):
    world.cut(1, "zookeeper")
    sent = world.client.send(ORDERS, "a")
    assert world.until(lambda: sent.done, 1000)
    assert sent.code == ErrorCode.none
    epoch = world[1].running.broker.replicas.broker_epoch
    assert world.until(lambda: world.leader(ORDERS) == 2, SESSION_MS + 1000)
    world.heal()
    assert world.until(lambda: set(world.isr(ORDERS)) == {1, 2, 3})
    assert world[1].running.broker.replicas.broker_epoch > epoch
    assert world[1].running.broker.replicas.partitions[ORDERS].role is Role.FOLLOWER


def test_cut_from_zookeeper_for_a_moment_nothing_changes(world):
    before = world.state(ORDERS), world[1].running.broker.replicas.broker_epoch
    world.cut(1, "zookeeper")
    world.run(SESSION_MS - 7000)
    world.heal()
    world.run(20_000)
    assert (world.state(ORDERS), world[1].running.broker.replicas.broker_epoch) == before


@pytest.mark.parametrize("number", range(1, 15))
def test_a_broker_starts_although_its_connection_to_zookeeper_breaks(world, monkeypatch, number):
    """At each of its requests: it can't know whether that was carried out, and asks again."""
    ask, asked = SimulatedZookeeperClient.ask, []

    async def broken(client, *given):
        if client._process.name == machine(2):
            asked.append(given)
            if len(asked) == number:
                client._process.after(1, client._end.close)
                client._process.after(1, client._broken, client._end)
        return await ask(client, *given)

    before = world[2].running.broker.replicas.broker_epoch
    world.kill(2)
    monkeypatch.setattr(SimulatedZookeeperClient, "ask", broken)
    world.start(2)
    path = znodes.broker_path(2)
    assert world.until(lambda: path in world.zookeeper.tree and len(asked) > number, 5000)
    world.run(5000)
    assert not told(world, "broker.refused")
    epoch = world[2].running.broker.replicas.broker_epoch
    assert epoch == world.zookeeper.tree[path].stat.czxid > before


def hang_up(world, broker):
    """Cut off from ZooKeeper until it has given up its connection, but not its session."""
    world.cut(broker, "zookeeper")
    assert world.until(lambda: world[broker].running.session is None, SESSION_MS)


def test_a_topic_created_while_the_controller_is_cut_off_is_not_forgotten(world):
    assert world.controller == 1
    hang_up(world, 1)
    world.create("users", [[2, 3]])
    world.heal()
    assert world.until(lambda: world.leader(TopicPartition("users", 0)) == 2, 5000)
    assert world.controller == 1


def test_what_the_controller_was_about_to_do_it_does_when_it_is_back(world):
    answers = []
    world.cut(1, "zookeeper")
    world.reassign({ORDERS: (3, 2, 1)}, answers.append)
    hang_up(world, 1)
    assert not answers
    world.heal()
    assert world.until(lambda: bool(answers), 5000)
    assert answers == [{ORDERS: None}]
    assert world.replicas(ORDERS) == (3, 2, 1)


def test_what_the_controller_was_about_to_do_it_gives_up_with_its_session(world):
    answers = []
    world.cut(1, "zookeeper")
    world.reassign({ORDERS: (3, 2, 1)}, answers.append)
    world.run(SESSION_MS + 2000)
    world.heal()
    assert world.until(lambda: bool(answers), 5000)
    assert answers[0].code == ErrorCode.not_controller
    assert world.replicas(ORDERS) == (1, 2, 3)


def test_an_isr_that_a_superseded_leader_proposes_is_not_written():
    """Below 2.7 the leader finds that out by itself; later it has to reach the controller."""
    superseded(made(), refused=[1])
    superseded(made(config={"inter.broker.protocol.version": "2.8"}), refused=[])


def superseded(world, refused):
    for other in (2, 3, "zookeeper"):
        world.cut(1, other)
    world.client.send(ORDERS, "x", acks=1, to=1)
    assert world.until(lambda: world.leader(ORDERS) == 2, SESSION_MS + 1000)
    world.run(50_000)
    before = world.state(ORDERS)
    world.heal(1, "zookeeper")
    world.run(1000)
    assert world.state(ORDERS) == before
    assert [broker for broker, _ in told(world, "isr.refused")] == refused
    partition = world[1].running.broker.replicas.partitions[ORDERS]
    assert (partition.isr, partition.proposal.isr) == ((1, 2, 3), (1,))


def test_an_isr_that_was_written_though_nobody_said_so_is_believed():
    world = made(config={"replica.lag.time.max.ms": "5000"})
    world.cut(1, 3)
    world.cut("zookeeper", 1, both=False)
    world.client.send(ORDERS, "a", acks=1)
    assert world.until(lambda: world.isr(ORDERS) == (1, 2))
    assert world.until(lambda: world[1].running.session is None)
    assert world[1].running.broker.replicas.partitions[ORDERS].isr == (1, 2, 3)
    world.heal("zookeeper", 1)
    assert world.until(
        lambda: world[1].running.broker.replicas.partitions[ORDERS].isr == (1, 2), 5000
    )
    assert not told(world, "isr.refused")


# -- faults ----------------------------------------------------------------------------------


def test_for_a_paused_broker_everything_waits(world):
    world.client.send(ORDERS, "a")
    world.run(100)
    world.pause(3)
    sent = world.client.send(ORDERS, "b")
    world.run(10_000)
    assert not sent.done
    assert values(world, 3) == ["a"]
    world.resume(3)
    assert world.until(lambda: sent.done, 1000)
    assert world.isr(ORDERS) == (1, 2, 3)


def test_a_leader_that_slept_too_long_is_fenced_and_cut(world):
    world.client.send(ORDERS, "a")
    world.run(1000)
    world.cut(1, 2)
    world.cut(1, 3)
    lost = [world.client.send(ORDERS, each, acks=1, to=1) for each in "xy"]
    world.run(100)
    world.pause(1)
    assert world.until(lambda: world.leader(ORDERS) == 2, SESSION_MS + 1000)
    world.heal()
    world.resume(1)
    kept = world.client.send(ORDERS, "b")
    assert world.until(lambda: set(world.isr(ORDERS)) == {1, 2, 3})
    world.run(1000)
    assert [each.code for each in (*lost, kept)] == [ErrorCode.none] * 3
    assert [values(world, each) for each in (1, 2, 3)] == [["a", "b"]] * 3


def test_a_request_whose_answer_is_lost_is_done_once(world):
    world.client.send(ORDERS, "a")
    world.run(100)
    world.cut(machine(1), "client", both=False)
    sent = world.client.send(ORDERS, "b")
    world.run(31_000)
    world.heal()
    assert world.until(lambda: sent.done, 40_000)
    assert (sent.code, sent.offset, sent.tries) == (ErrorCode.none, 1, 2)
    assert values(world, 1) == ["a", "b"]


def test_a_broker_that_could_not_be_told_of_its_role_is_told_later(world):
    world.cut(1, 3)
    world.create("users", [[3, 2]])
    world.run(40_000)
    users = TopicPartition("users", 0)
    assert users not in world[3].running.broker.replicas.partitions
    world.heal()
    assert world.until(lambda: users in world[3].running.broker.replicas.partitions, 5000)
    assert world[3].running.broker.replicas.partitions[users].is_leader


def test_a_power_cut_loses_what_was_not_flushed(world):
    world.client.send(ORDERS, "a")
    world.run(1000)
    world[2].log(ORDERS).flush(0)
    world.client.send(ORDERS, "b")
    world.run(1000)
    world.power_cut(2)
    world.power_cut(3)
    assert [values(world, each) for each in (1, 2, 3)] == [["a", "b"], ["a"], []]


def test_an_orderly_stop_loses_nothing_to_a_power_cut(world):
    world.client.send(ORDERS, "a")
    world.run(1000)
    world.stop(3)
    assert world.until(lambda: not world[3].is_up)
    world[3].disk.power_cut()
    assert values(world, 3) == ["a"]


def test_a_clock_that_is_wrong_changes_no_roles():
    world = made()
    world[2].skew = 3_600_000
    world.run(60_000)
    sent = world.client.send(ORDERS, "a")
    assert world.until(lambda: sent.done, 1000)
    assert world.isr(ORDERS) == (1, 2, 3)
    assert len(told(world, "leader.elected")) == 1


# -- clients ---------------------------------------------------------------------------------


def test_a_consumer_sees_what_is_committed_wherever_it_reads(world):
    world.client.send(ORDERS, "a")
    world.run(1000)
    world.cut(1, 3)
    world.client.send(ORDERS, "b", acks=1)
    world.run(1000)
    for broker in (1, 2, 3):
        seen = world.consume(ORDERS, 0, broker, anywhere=True)
        assert [row.value for row in seen.rows] == ["a"]
    assert world.consume(ORDERS, 0, 2).code == ErrorCode.not_leader_or_follower


def test_who_has_given_up_on_a_record_goes_on_with_the_next(world):
    world.kill(2)
    world.kill(3)
    world.run(20_000)
    refused = world.client.send(ORDERS, "a", patience=1000)
    assert world.until(lambda: refused.done)
    assert refused.code == ErrorCode.not_enough_replicas
    world.start(2)
    sent = world.client.send(ORDERS, "b")
    assert world.until(lambda: sent.done)
    assert (sent.code, sent.offset) == (ErrorCode.none, 0)


def test_without_acks_nobody_says_anything(world):
    sent = world.client.send(ORDERS, "a", acks=0)
    world.run(100)
    assert sent.done
    assert sent.offset == -1
    assert values(world, 1) == ["a"]


def test_a_configuration_is_known_as_soon_as_its_note_was_read(world):
    world.configure("orders", min_insync_replicas="4")
    world.run(20)
    sent = world.client.send(ORDERS, "a", patience=0)
    assert world.until(lambda: sent.done)
    assert sent.code == ErrorCode.not_enough_replicas


def waiting_for_an_election(early):
    """Broker 3 leads `cakes` and is dead; in `early` ms the controller, 1, will miss it."""
    world = made()
    world.create("cakes", [[3, 2, 1]])
    assert world.until(lambda: world.leader(CAKES) == 3)
    world.run(500)
    world.kill(3)
    if early is not None:
        world.run(missed_after() - early)
    return world


@cache
def missed_after():
    world = waiting_for_an_election(None)
    died = world.now
    assert world.until(lambda: world.leader(CAKES) == 2)
    return world.now - died


@pytest.mark.parametrize("early", range(2, 42, 4))
def test_a_broker_that_restarts_in_an_election_never_knows_a_part_of_the_topics(early):
    """The controller does not know yet that it has restarted, and sends it one change."""
    world = waiting_for_an_election(early)
    world.kill(2)
    world.start(2)
    seen = 0
    for _ in range(3000):
        world.run(1)
        broker = world[2].running.built  # None while it starts
        if broker and broker.metadata.controller != NO_BROKER:
            seen += 1
            assert broker.metadata.partition(ORDERS) and broker.metadata.partition(CAKES)
    assert seen
