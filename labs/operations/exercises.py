"""The exercises of 09_operations, and how each is judged.

rolled   a function that restarts brokers, judged by the answers to a producer meanwhile
moved    a reassignment and its throttle, judged by what the new broker copies in each second
tame     quotas, judged by two clients that send as much as they can
locked   access control lists, judged by what three users may write and read
"""

import json
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import combinations
from subprocess import DEVNULL, PIPE, Popen
from time import perf_counter, sleep
from typing import Any, NamedTuple

from confluent_kafka import Producer
from lab import raise_all

from engine import Cluster
from engine.client.address import Address
from engine.client.admin.security_values import AclBinding
from engine.client.raw_connection import RawConnection
from engine.cluster import single_requests
from engine.cluster.event_stream import ClusterEvent
from engine.errors import ErrorCode
from engine.quotas.entity import ClientQuotaEntity
from engine.wire.apis import Api
from operations import shared
from operations.load import Load
from widgets import Trial
from widgets.exercise import Code
from widgets.log.fields import count

# -- tame ------------------------------------------------------------------------------------------

RECORDS, SIZE = 3000, 1000  # of each client
LIMIT = 500_000  # bytes a second
AT_ONCE = 2  # seconds' worth, by quota.window.num
PATIENCE = 20.0  # seconds for all of it
MARGIN = 1.3  # of the limit: the last requests are answered before their time to wait


def tame(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "Quotas with which noisy is slowed down, but gets through, and neighbour never waits",
        lambda code: _tamed(cluster(), code),
        hint="Whom does a quota of a user count together? And for whom is a default?",
        done="Done: noisy is slowed down, sends everything in time, and neighbour never waits.",
    )


def _tamed(cluster: Cluster, code: Code) -> str:
    with ExitStack() as set_by_then:
        try:
            for entity, limits in dict(code()).items():
                _set(cluster, entity, limits)
                set_by_then.callback(_set, cluster, entity, dict.fromkeys(limits))
        except Exception as error:  # the learner's, and told
            return f"setting the quotas raises {type(error).__name__}: {error}"
        return _slowed(cluster)


def _set(cluster: Cluster, entity: ClientQuotaEntity, limits: Mapping[str, float | None]) -> None:
    for each in cluster.admin.alter_client_quotas({entity: limits}).values():
        each.result()


class Stream(NamedTuple):
    answers: int
    errors: int
    waits: float  # seconds that it was told to wait
    seconds: float


def _slowed(cluster: Cluster) -> str:
    topic = cluster.topic("nightly", replicas=[1])
    with ThreadPoolExecutor() as pool:
        clients = [pool.submit(_stream, cluster, topic, name) for name in ("noisy", "neighbour")]
        noisy, neighbour = (each.result() for each in clients)
    if neighbour.waits:
        return f"neighbour was told to wait {neighbour.waits:.1f} seconds"
    if noisy.errors or neighbour.errors or neighbour.answers < RECORDS:
        return "not every record is answered without an error"
    if not noisy.waits:
        return "noisy was never told to wait"
    if noisy.answers < RECORDS:
        done = f"{noisy.answers:,} of {RECORDS:,} records"
        return f"noisy is slowed down too much: {done} in {PATIENCE:.0f} seconds"
    used = SIZE * RECORDS / (noisy.seconds + AT_ONCE)
    if used > MARGIN * LIMIT:
        return f"noisy still sends {used / 1000:,.0f} KB a second"
    return ""


def _stream(cluster: Cluster, topic: str, client: str) -> Stream:
    waits, errors = list[float](), list[object]()
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "client.id": client,
        "batch.size": 100_000,
        "throttle_cb": lambda event: waits.append(event.throttle_time),
    }
    producer, began = Producer(settings), perf_counter()
    for _ in range(RECORDS):
        producer.produce(topic, bytes(SIZE), on_delivery=lambda error, _: errors.append(error))
    producer.flush(PATIENCE)
    answered = len(errors)
    producer.purge()  # what is left is not waited for
    producer.flush(1)
    failed = sum(map(bool, errors[:answered]))
    return Stream(answered, failed, sum(waits), perf_counter() - began)


# -- rolled ----------------------------------------------------------------------------------------

SLOW = 500  # ms that a message between brokers takes


def rolled(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "A function that restarts all brokers, and no write is refused meanwhile",
        lambda code: _rolled(cluster(), code),
        hint="Who is in sync at the moment when you stop the next broker? Ask cluster.isr(topic), "
        "and use cluster.wait.",
        done="Done: all three are restarted, and no write was refused.",
    )


def _rolled(cluster: Cluster, code: Code) -> str:
    topic = cluster.topic("rolled", replicas=[1, 2, 3], min_insync_replicas=2)
    began = {number: each.pid for number, each in cluster.state().brokers.items()}
    for one, other in combinations(cluster.brokers, 2):
        cluster.slow(one, other, SLOW)
    before = cluster.events()[-1].number
    try:
        with Load(cluster, topic) as load:
            load.settle()
            try:
                code(cluster, topic)
            except Exception as error:  # the learner's, and told
                return f"it raises {type(error).__name__}: {error}"
            cluster.heal()
            raise_all(cluster)
            load.settle()
        happened = cluster.events(before)
        missing = [n for n, each in cluster.state().brokers.items() if each.pid == began[n]]
    finally:
        cluster.mend()
    for event in happened:
        if event.kind == "broker.killed":
            return f"broker {event.data['broker']} was killed, and could hand nothing over"
    if missing:
        return f"broker {missing[0]} was not restarted"
    if _was_alone(happened, topic) or load.errors:
        return "for a while too few replicas were in sync, and writes are refused then"
    return ""


def _was_alone(events: Sequence[ClusterEvent], topic: str) -> bool:
    """The leader, without a follower in sync: no write may have come meanwhile, but it could."""
    changes = [it.data for it in events if it.kind == "isr.changed" and it.data["topic"] == topic]
    return any(len(each["was"]) < 2 for each in changes)


# -- moved -----------------------------------------------------------------------------------------

PARTITIONS, HELD, VALUE = 6, 300, 1000  # records in each partition, and bytes of one
SHARE = 3  # of the twelve replicas
MOST = 250_000  # bytes of copies in a second
BROAD = 1.2  # of it: a response is not cut in two
WITHIN = 20.0  # seconds
LOOK = 0.1  # seconds between two looks

Placement = dict[int, list[int]]


def moved() -> Trial:
    return Trial(
        "A reassignment with a throttle: done within 20 seconds, and never 250 KB in a second",
        _moved,
        hint="How many bytes have to be copied, and how many come meanwhile? What does that make "
        "in 20 seconds?",
        done="Done: broker 4 has its share, in time, and the link was never full.",
    )


def _moved(code: Code) -> str:
    pieces = {"replica.fetch.max.bytes": "10000"}
    with Cluster(brokers=3, config=shared.CONFIG | pieces) as cluster:
        old: Placement = {it: [it % 3 + 1, (it + 1) % 3 + 1] for it in range(PARTITIONS)}
        topic = cluster.topic("moved", replicas=[*old.values()])
        for partition in old:
            cluster.write(topic, ["x" * VALUE] * HELD, partition=partition)
        cluster.add_broker()
        try:
            target, throttle = code({it: [*at] for it, at in old.items()})
            if wrong := _badly_placed(old | target):
                return wrong
        except Exception as error:  # the learner's, and told
            return f"it raises {type(error).__name__}: {error}"
        with Load(cluster, topic, partitions=PARTITIONS, size=VALUE) as load:
            load.settle()
            with _reassign(cluster, topic, target, throttle) as command:
                done, rate = _watch(cluster, topic, command)
                told = command.communicate()[1].strip().rstrip(".")
        if command.returncode:
            return f"the command says: {told}"
        if rate > BROAD * MOST:
            return f"broker 4 has copied {rate / 1000:.0f} KB in a second"
        if not done:
            return f"it is not done after {WITHIN:.0f} seconds"
        return f"{count(load.errors, 'record')} failed" if load.errors else ""


def _badly_placed(wanted: Placement) -> str:
    if len(wanted) != PARTITIONS:
        return f"there are the partitions 0 to {PARTITIONS - 1}, not {sorted(wanted)}"
    for partition, at in wanted.items():
        if len(at) != 2 or len({*at}) != 2:
            return f"partition {partition} has the replicas {at}, and not two"
    share = sum(4 in at for at in wanted.values())
    return "" if share >= SHARE else f"broker 4 gets {share} of twelve replicas, and not {SHARE}"


def _reassign(cluster: Cluster, topic: str, target: Placement, throttle: int | None) -> Popen[str]:
    rows = [{"topic": topic, "partition": it, "replicas": at} for it, at in target.items()]
    moves = cluster.data / "moves.json"
    moves.write_text(json.dumps({"version": 1, "partitions": rows}), encoding="utf-8")
    limit = [] if throttle is None else ["--throttle", str(throttle)]
    command = [sys.executable, "-m", "engine", "reassign-partitions", "--execute", *limit]
    where = ["--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(moves)]
    return Popen([*command, *where], stdout=DEVNULL, stderr=PIPE, text=True)


def _watch(cluster: Cluster, topic: str, command: Popen[str]) -> tuple[bool, float]:
    """Whether the moves end in time, and the most bytes that broker 4 got in a second."""
    began, most = perf_counter(), 0.0
    seen = deque([(began, 0)])
    while (now := perf_counter()) - began < WITHIN:
        ended = command.poll() is not None  # before it is asked what is left to do
        found = [it for at, it in cluster.state().partitions.items() if at.topic == topic]
        copies = sum(each.replicas[4].size for each in found if 4 in each.replicas)
        seen.append((now, copies))
        while now - seen[1][0] >= 1:
            seen.popleft()
        most = max(most, (copies - seen[0][1]) / max(1.0, now - seen[0][0]))
        if ended and not cluster.admin.list_partition_reassignments().result():
            return True, most
        sleep(LOOK)
    return False, most


# -- locked ----------------------------------------------------------------------------------------

USERS = {name: f"the password of {name}" for name in ("alice", "bob", "carol")}
RULES = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
OTHERS = ("menu", "payroll-archive")  # topics that stay open


def locked() -> Trial:
    return Trial(
        "Entries with which alice alone writes and reads a topic, and all others stay open",
        _locked,
        hint="What does the first entry about a topic do to all who are not named in it? Who wins, "
        "an entry that allows or one that denies?",
        done="Done: alice writes and reads it, nobody else does, and the others are open.",
    )


def _locked(code: Code) -> str:
    with Cluster(brokers=1, security="SASL_PLAINTEXT", users=USERS, config=RULES) as cluster:
        topic = cluster.topic("payroll")
        for name in OTHERS:
            cluster.topic(name)
        try:
            futures = cluster.admin.create_acls(_entries(code(topic)))
            for each in futures.values():
                each.result()
        except Exception as error:  # the learner's, and told
            return f"adding the entries raises {type(error).__name__}: {error}"
        for user in USERS:
            for name in (topic, *OTHERS):
                wanted = user == "alice" or name != topic
                for deed, may in _may(cluster, user, name).items():
                    if may != wanted:
                        return f"{user} {'can' if may else 'cannot'} {deed} {name}"
    return ""


def _entries(given: Any) -> list[AclBinding]:
    if not isinstance(given, list | tuple) or not given:
        raise TypeError(f"it gives {given!r}, and not a list of AclBinding")
    return [*given]


def _may(cluster: Cluster, user: str, topic: str) -> dict[str, bool]:
    """Whether a user may write to a topic, and read from it."""
    address = Address("127.0.0.1", cluster.state().brokers[1].port)
    security = cluster.settings(user)
    del security["bootstrap.servers"]
    with RawConnection(address, user, security) as one:
        stored = one.ask(Api.PRODUCE, single_requests.produce_request(topic, "tea"), None)
        fetched = one.ask(Api.FETCH, single_requests.fetch_request(topic), 12)
    write = stored.responses[0].partition_responses[0].error_code
    read = fetched.responses[0].partitions[0].error_code
    return {
        deed: ErrorCode(code) == ErrorCode.none
        for deed, code in {"write": write, "read": read}.items()
    }
