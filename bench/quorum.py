"""Three controllers of ours beside three of Apache Kafka 3.9.1: python -m bench.quorum

    leader      from the start of three processes to the first leader: cold, as every start of a JVM
    records     records of the metadata log that are committed in a second, once the JVM is warm
    failover    from the death of the leader to the next committed record, fetch timeout included

Both quorums run all the time, and are asked in turns: A B A B. The records are quotas of clients:
they need no topics and no other brokers. They are asked for through one broker, which is ours in
both cases, in requests of 200, eight on their way at once.

Needs the jars of `make real`.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from types import SimpleNamespace as Message
from typing import Self

import psutil

from bench.table import number, table
from engine.cluster.kafka_process import KAFKA, OURS
from engine.errors import ErrorCode
from engine.wire import codec
from engine.wire.apis import Api
from engine.wire.errors import RequestHeader
from tests.cluster.controllers import Controllers
from tests.cluster.kraft_brokers import KRaftBrokers
from tests.interop.raw import Raw
from tests.limits import JVM_S

ENTRIES = 200  # records of a request
WAITING = 8  # requests that are on their way at once
NAMES = {OURS: "ours", KAFKA: "Kafka 3.9.1"}


class Quorum:
    """Three controllers of a kind, and a broker of ours."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.name = NAMES[kind]
        self.controllers = Controllers(folder, (kind,) * 3)
        self.brokers = KRaftBrokers(self.controllers, {1: OURS})
        self._rates = count(1)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        began = time.monotonic()
        self._stack.enter_context(self.controllers)
        self.controllers.leader(JVM_S)
        self.seconds_to_leader = time.monotonic() - began
        self._stack.enter_context(self.brokers)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def records_a_second(self, requests: int) -> float:
        with Raw(self.brokers.bootstrap) as client:
            headers: list[RequestHeader] = []
            began, sent = time.monotonic(), 0
            while sent < requests or headers:
                while sent < requests and len(headers) < WAITING:
                    headers.append(client.post(Api.ALTER_CLIENT_QUOTAS, self._quotas()))
                    sent += 1
                answer = codec.decode_response(headers.pop(0), client.frame())
                assert all(it.error_code == ErrorCode.none for it in answer.entries), answer
            return requests * ENTRIES / (time.monotonic() - began)

    def failover_s(self) -> float:
        """The leader is killed, and comes back after that."""
        leader = self.controllers.leader(JVM_S)
        with Raw(self.brokers.bootstrap) as client:
            self.controllers.children[leader].kill()
            began = time.monotonic()
            header = client.post(Api.ALTER_CLIENT_QUOTAS, self._quotas())
            codec.decode_response(header, client.frame())
            spent = time.monotonic() - began
        self.controllers.start(leader)
        self.controllers.leader(JVM_S)
        return spent

    def memory_mb(self) -> float:
        processes = [psutil.Process(it.pid) for it in self.controllers.children.values()]
        return float(statistics.mean(each.memory_info().rss for each in processes)) / 1e6

    def _quotas(self) -> Message:
        rate = float(next(self._rates))
        return Message(entries=tuple(_entry(n, rate) for n in range(ENTRIES)), validate_only=False)


def _entry(client: int, rate: float) -> Message:
    return Message(
        entity=(Message(entity_type="client-id", entity_name=f"client-{client}"),),
        ops=(Message(key="request_percentage", value=rate, remove=False),),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=50, help="of a round")
    parser.add_argument("--warm-up", type=int, default=5, help="rounds that do not count")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        quorums = []
        for kind in NAMES:
            path = Path(folder, kind)
            path.mkdir()
            quorums.append(stack.enter_context(Quorum(kind, path)))
        rates: Mapping[str, list[float]] = {each.name: [] for each in quorums}
        for number_of_round in range(options.warm_up + options.rounds):
            for each in quorums:
                rate = each.records_a_second(options.requests)
                print(f"round {number_of_round}: {each.name}, {rate:,.0f} records/s", flush=True)
                if number_of_round >= options.warm_up:
                    rates[each.name].append(rate)
        memory = [f"{each.memory_mb():.0f} MB" for each in quorums]
        fails: Mapping[str, list[float]] = {each.name: [] for each in quorums}
        for _ in range(options.rounds):
            for each in quorums:
                fails[each.name].append(each.failover_s())
        print(told(quorums, rates, fails, memory))


def told(
    quorums: list[Quorum],
    rates: Mapping[str, list[float]],
    fails: Mapping[str, list[float]],
    memory: list[str],
) -> str:
    ours, theirs = rates.values()
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    rows = [
        ("seconds to the first leader", *(number(it.seconds_to_leader) for it in quorums)),
        ("records/s, median", *(f"{statistics.median(it):,.0f}" for it in rates.values())),
        ("seconds to the next record", *(number(statistics.median(it)) for it in fails.values())),
        ("memory of a controller", *memory),
    ]
    head = ["", *(each.name for each in quorums)]
    pairs = f"records/s, ours to Kafka's, median of {len(ours)} pairs: {number(ratio)}"
    return f"\n{table(head, rows)}\n\n{pairs}"


if __name__ == "__main__":
    main()
