"""The exercises of 07_operations, and how each is judged.

tame     quotas, judged by two clients that send as much as they can
locked   access control lists, judged by what three users may write and read
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any, NamedTuple

from confluent_kafka import Producer

from engine import Cluster
from engine.client.address import Address
from engine.client.admin.security_values import AclBinding
from engine.client.raw_connection import RawConnection
from engine.cluster import single_requests as by_hand
from engine.errors import ErrorCode
from engine.quotas.entity import ClientQuotaEntity
from engine.wire.apis import Api
from widgets import Trial
from widgets.exercise import Code

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
    )


def _tamed(cluster: Cluster, code: Code) -> str:
    try:
        quotas = code()
        futures = cluster.admin.alter_client_quotas(quotas)
        for each in futures.values():
            each.result()
    except Exception as error:  # the learner's, and told
        return f"setting the quotas raises {type(error).__name__}: {error}"
    try:
        return _slowed(cluster)
    finally:
        _remove(cluster, quotas)


def _remove(cluster: Cluster, quotas: Mapping[ClientQuotaEntity, Mapping[str, float]]) -> None:
    nothing = {entity: dict.fromkeys(limits) for entity, limits in quotas.items()}
    for each in cluster.admin.alter_client_quotas(nothing).values():
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
    )


def _locked(code: Code) -> str:
    with Cluster(brokers=1, security="SASL_PLAINTEXT", users=USERS, config=RULES) as house:
        topic = house.topic("payroll")
        for name in OTHERS:
            house.topic(name)
        try:
            futures = house.admin.create_acls(_entries(code(topic)))
            for each in futures.values():
                each.result()
        except Exception as error:  # the learner's, and told
            return f"adding the entries raises {type(error).__name__}: {error}"
        for user in USERS:
            for name in (topic, *OTHERS):
                wanted = user == "alice" or name != topic
                for deed, may in _may(house, user, name).items():
                    if may != wanted:
                        return f"{user} {'can' if may else 'cannot'} {deed} {name}"
    return ""


def _entries(given: Any) -> list[AclBinding]:
    if not isinstance(given, list | tuple) or not given:
        raise TypeError(f"it gives {given!r}, and not a list of AclBinding")
    return [*given]


def _may(house: Cluster, user: str, topic: str) -> dict[str, bool]:
    """Whether a user may write to a topic, and read from it."""
    address = Address("127.0.0.1", house.state().brokers[1].port)
    security = house.settings(user)
    del security["bootstrap.servers"]
    with RawConnection(address, user, security) as one:
        stored = one.ask(Api.PRODUCE, by_hand.produce_request(topic, "tea"), None)
        fetched = one.ask(Api.FETCH, by_hand.fetch_request(topic), 12)
    write = stored.responses[0].partition_responses[0].error_code
    read = fetched.responses[0].partitions[0].error_code
    return {
        deed: ErrorCode(code) == ErrorCode.none
        for deed, code in {"write": write, "read": read}.items()
    }
