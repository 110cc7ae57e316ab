"""The debug server: who may connect, what is answered, and what is sent only once."""

import asyncio
import json
import stat
import sys
from contextlib import suppress
from types import SimpleNamespace

from engine.broker.debug import control_server
from engine.broker.debug.debug_server import DebugServer
from engine.broker.events import Ring
from engine.broker.metadata import AliveBroker, Metadata, PartitionInfo, TopicInfo
from engine.broker.request_faults import RequestFaults
from engine.links import Link, Links
from engine.model import Event, TopicPartition
from engine.replication.partition import Follower, Partition, Role
from engine.storage.producers import Producers

ORDERS = [TopicPartition("orders", number) for number in range(3)]


class Logs(dict):
    """A directory, as far as the debug server reads it."""

    def __init__(self):
        super().__init__({each: self.log(10) for each in ORDERS[:2]})
        self[ORDERS[0]].producers.open[4000] = 5  # a transaction, since offset 5
        self.logs, self.offline = self, None

    @staticmethod
    def log(end):
        return SimpleNamespace(
            start_offset=2,
            end_offset=end,
            size=70 * end,
            segments=[0, 1],
            producers=Producers(),
        )


class Lab:
    """A broker with a debug server, and connections to it."""

    def __init__(self, home):
        self.writers = []
        self.home, self.links, self.events, self.logs = home, Links(), Ring(5), Logs()
        metadata = Metadata("cluster", 1)
        metadata.brokers = {
            number: AliveBroker(number, "127.0.0.1", 9000 + number) for number in (2, 1)
        }
        partitions = {each: Partition(each, 1) for each in ORDERS}
        leads, follows, _ = partitions.values()
        leads.role, leads.leader, leads.leader_epoch, leads.high_watermark = Role.LEADER, 1, 5, 7
        leads.replicas, leads.isr = (1, 2, 3), (1, 2)
        leads.followers = {
            2: Follower(2, end=10, caught_up=900),
            3: Follower(3, 7, caught_up=800),
        }
        follows.role, follows.leader, follows.leader_epoch = Role.FOLLOWER, 2, 3
        replicas = SimpleNamespace(
            logs=SimpleNamespace(directories=[self.logs]),
            partitions=partitions,
            broker_epoch=17,
            controller_epoch=4,
        )
        self.broker = SimpleNamespace(id=1, now=lambda: 1000, metadata=metadata, replicas=replicas)
        self.broker.config = SimpleNamespace(
            replica_lag_time_max_ms=30_000, zookeeper_session_timeout_ms=18_000
        )
        self.broker.gateway = SimpleNamespace(
            controller_id=2, is_controller=False, snapshot=lambda: {"topics": ["orders"]}
        )
        self.broker.links, self.broker.events = self.links, self.events
        self.broker.request_faults = RequestFaults()
        listeners = [SimpleNamespace(tls_copied=20), SimpleNamespace(tls_copied=3)]
        self.broker.listeners = SimpleNamespace(all=listeners)
        self.broker.quotas = SimpleNamespace(snapshot=lambda now: [{"user": "alice", "at": now}])
        self.groups = []
        self.broker.groups = SimpleNamespace(snapshot=lambda: list(self.groups))
        self.transactions = []
        self.broker.transactions = SimpleNamespace(snapshot=lambda: list(self.transactions))
        self.server = DebugServer(
            home,
            self.broker,
            SimpleNamespace(connections={1, 2}),
            lambda: None,
            lambda: None,
            lambda topic: {},
        )

    async def __aenter__(self):
        await self.server.open()
        return self

    async def __aexit__(self, *_):
        await self.server.close()
        for writer in self.writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    @property
    def address(self):
        port, token = (self.home / "broker.control").read_text().split()
        return int(port), token

    async def enter(self, token=None):
        port, real = self.address
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        self.writers.append(writer)
        writer.write(f"{real if token is None else token}\n".encode())

        async def ask(line, **request):
            line = line if isinstance(line, bytes) else json.dumps({"ask": line} | request).encode()
            writer.write(line + b"\n")
            answer = await reader.readline()
            return json.loads(answer) if answer else None

        return ask


def talk(story):
    """Run a story with a debug server."""

    def test(tmp_path):
        async def run():
            async with Lab(tmp_path) as lab, asyncio.timeout(20):
                await story(lab)

        asyncio.run(run())

    test.__name__, test.__doc__ = story.__name__, story.__doc__
    return test


@talk
async def test_only_its_owner_can_read_port_and_token(lab):
    file = lab.home / "broker.control"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    await lab.server.close()
    assert not file.exists()


@talk
async def test_what_a_crash_left_is_replaced_with_its_rights(lab):
    file = lab.home / "broker.control"
    await lab.server.close()
    file.write_text("1 old")
    file.chmod(0o644)
    await lab.server.open()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert await (await lab.enter())("state")


@talk
async def test_a_wrong_token_is_hung_up_on(lab):
    _, token = lab.address
    for wrong in ("", token[:-1], token + "0", "é", '{"ask": "state"}'):
        ask = await lab.enter(wrong)
        try:
            assert await ask("state") is None, wrong
        except ConnectionError:
            continue
    assert await (await lab.enter())("state")


@talk
async def test_what_makes_no_sense_is_answered_with_the_reason(lab):
    ask = await lab.enter()
    for line, reason in (
        (b"", "Expecting value"),
        (b"\xff\xfe", "decode"),
        (b"[1]", "ask is one of state"),
        (b"{}", "ask is one of state"),
        (b'{"ask": ["state"]}', "unhashable"),
        (b'{"ask": "shutdown"}', "ask is one of state"),
        (b'{"ask": "state", "of": 3}', "unexpected keyword argument"),
        (b'{"ask": "events"}', "missing"),
        (b'{"ask": "events", "after": "a"}', "not supported"),
        (b'{"ask": "events", "after": 1}', "up to 0, not 1"),
        (b'{"ask": "events", "after": -1}', "up to 0, not -1"),
        (b'{"ask": "drop", "answers": null}', "int"),
        (b"[" * 60_000, "Expecting value" if sys.version_info >= (3, 14) else "recursion"),
    ):
        assert reason in (await ask(line))["error"], line
    assert (await ask("state"))["broker"] == 1


@talk
async def test_a_line_that_is_too_long_ends_the_conversation_and_no_other(lab):
    other, ask = await lab.enter(), await lab.enter()
    assert await other("state")
    try:
        assert await ask(b"x" * (control_server.LINE * 3)) is None
    except ConnectionError:
        assert True  # hung up on while it was still talking
    assert await other("state")


@talk
async def test_there_are_only_so_many_conversations(lab):
    asks = [await lab.enter() for _ in range(control_server.MAX_CONNECTIONS)]
    for ask in asks:
        assert await ask("state")
    one_more = await lab.enter()
    try:
        assert await one_more("state") is None
    except ConnectionError:
        assert await asks[0]("state")


@talk
async def test_close_waits_for_a_connection_that_was_just_accepted(lab):
    loop, closing = asyncio.get_running_loop(), []

    def close_first(loop, work, **kwargs):
        """`close` begins before the task of the connection does anything."""
        if "_serve" in work.__qualname__:
            closing.append(asyncio.Task(lab.server.close(), loop=loop))
        return asyncio.Task(work, loop=loop, **kwargs)

    loop.set_task_factory(close_first)
    ask = await lab.enter()
    while not closing:
        await asyncio.sleep(0)
    await closing[0]
    assert [each for each in asyncio.all_tasks() if "_serve" in each.get_coro().__qualname__] == []
    with suppress(ConnectionError):
        assert await ask("state") is None


@talk
async def test_the_state_is_told_once_and_then_what_changed(lab):
    ask = await lab.enter()
    first = await ask("state")
    assert (first["at"], first["epoch"], first["session"]) == (1000, 17, None)
    assert (first["controller"], first["active"], first["controller_epoch"]) == (2, False, 4)
    assert (first["brokers"], first["connections"], first["faults"]) == ([1, 2], 2, {})
    assert first["tls_copied"] == 23
    assert first["quotas"] == [{"user": "alice", "at": 1000}]
    led = [
        *("orders", 0, "leader", 1, 5, [1, 2], [1, 2, 3], 2, 7, 5, 10, 700, 2),
        [[2, 10, -1], [3, 7, 800]],
    ]
    followed = ["orders", 1, "follower", 2, 3, [], [], 2, 0, 0, 10, 700, 2, []]
    assert first["rows"] == [led, followed]

    again = await ask("state")
    assert (again["rows"], again["gone"], again["groups"]) == ([], [], None)
    lab.groups.append({"group": "g"})
    assert (await ask("state"))["groups"] == [{"group": "g"}]
    lab.transactions.append({"transactional_id": "t"})
    later = await ask("state")
    assert (later["groups"], later["transactions"]) == (None, [{"transactional_id": "t"}])

    lab.logs[ORDERS[1]] = Logs.log(11)
    del lab.logs[ORDERS[0]]
    later = await ask("state")
    assert [row[1] for row in later["rows"]] == [1]
    assert later["gone"] == [["orders", 0]]
    assert (await ask("state"))["gone"] == []

    assert len((await (await lab.enter())("state"))["rows"]) == 1  # who comes new is told all


@talk
async def test_a_disk_that_failed_and_a_partition_that_nobody_leads_are_told(lab):
    lab.logs.offline = "Input/output error"
    info = PartitionInfo(-1, 8, (2, 3), (3,))
    lab.broker.metadata.topics["gone"] = TopicInfo("gone", None, {4: info})
    state = await (await lab.enter())("state")
    assert [row[2] for row in state["rows"]] == ["offline", "offline"]
    assert state["leaderless"] == [["gone", 4, 8, [2, 3], [3]]]


@talk
async def test_events_after_a_number_and_how_many_were_forgotten(lab):
    ask = await lab.enter()
    assert await ask("events", after=0) == {"last": 0, "lost": 0, "events": []}
    for number in range(1, 8):
        lab.events.append(Event("counted", number, {"number": number}))
    answer = await ask("events", after=0, most=2)
    assert (answer["last"], answer["lost"]) == (4, 2)
    assert answer["events"] == [["counted", n, {"number": n}] for n in (3, 4)]
    answer = await ask("events", after=4)
    assert (answer["last"], answer["lost"], len(answer["events"])) == (7, 0, 3)
    assert await ask("events", after=7) == {"last": 7, "lost": 0, "events": []}


@talk
async def test_links_are_changed_all_or_none(lab):
    ask = await lab.enter()
    change = {"3": {"out_cut": True}, "zookeeper": {"delay": 0.5}}
    assert await ask("links", change=change) == {"faults": ["3", "zookeeper"]}
    assert lab.links.faults() == {"3": Link(out_cut=True), "zookeeper": Link(delay=0.5)}
    for wrong in (
        {"3": {"out_cut": 1}},
        {"3": {"broken": True}},
        {"3": {"delay": "long"}},
        {"3": {"delay": -1}},
        {"3": {"delay": float("nan")}},
        {"3": True},
        ["3"],
    ):
        answer = await ask("links", change=wrong, heal=True)
        assert "error" in answer and "internal" not in answer["error"], wrong
    assert (await ask("state"))["faults"].keys() == {"3", "zookeeper"}
    assert await ask("links", heal=True) == {"faults": []}
    assert lab.links.faults() == {}


@talk
async def test_answers_are_dropped_and_requests_traced_on_demand(lab):
    ask = await lab.enter()
    dropped = {"fault": "drop", "api": "PRODUCE", "times": 2}
    assert await ask("drop", answers=2, api=0) == {"request_faults": [dropped]}
    assert (await ask("state"))["request_faults"] == [dropped]
    faults = lab.broker.request_faults
    assert [faults.drops(api, "c") for api in (0, 1, 0, 0)] == [True, False, True, False]
    assert await ask("trace", on=True) == {"trace": True}
    assert lab.events.tracing
    assert await ask("controller") == {"topics": ["orders"]}


@talk
async def test_requests_fail_and_coordinators_are_slow_on_demand(lab):
    ask = await lab.enter()
    failed = {"fault": "fail", "api": "PRODUCE", "error": "NOT_ENOUGH_REPLICAS", "times": 2}
    slow = {"fault": "slow coordinator", "ms": 300}
    assert await ask("fail", api=0, error=19, times=2) == {"request_faults": [failed]}
    assert await ask("slow_coordinator", ms=300) == {"request_faults": [failed, slow]}
    for wrong in ({"ms": -1}, {"ms": float("nan")}, {"ms": "long"}):
        assert "error" in await ask("slow_coordinator", **wrong)
    assert "error" in await ask("fail", api=0, error=9999, times=1)
    assert "error" in await ask("fail", api=9999, error=19, times=1)
    repeated = {"fault": "repeat", "api": "END_TXN", "ms": None, "times": 1, "kept": 0}
    assert await ask("repeat", api=26, ms=None, times=1) == {
        "request_faults": [failed, slow, repeated]
    }
    for wrong in (
        {"api": 26, "ms": -1, "times": 1},
        {"api": 9999, "ms": 1, "times": 1},
        {"api": 26},
    ):
        assert "error" in await ask("repeat", **wrong)
    assert await ask("deliver") == {"copies": 0}
    assert await ask("heal_requests") == {"healed": True}
    assert await ask("heal_requests") == {"healed": False}
    assert (await ask("state"))["request_faults"] == []


@talk
async def test_a_bug_of_ours_is_answered_too(lab):
    ask = await lab.enter()
    del lab.broker.metadata
    assert "internal error" in (await ask("state"))["error"]
    assert await ask("trace", on=False) == {"trace": False}


def test_faults_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("BROKERLAB_LINKS", '{"2": {"out_cut": true}, "zookeeper": {"delay": 0.1}}')
    assert Links.from_environment().faults() == {
        "2": Link(out_cut=True),
        "zookeeper": Link(delay=0.1),
    }
    monkeypatch.delenv("BROKERLAB_LINKS")
    assert Links.from_environment().faults() == {}
