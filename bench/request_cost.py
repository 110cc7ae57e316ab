"""What one request costs a broker: its CPU time, beside another commit.

    python -m bench.request_cost ../before

`../before` is a second checkout of this repository, in which `make setup` was run. One broker of
each is started; one connection sends the same bytes again and again and waits for each answer, in
turns. What is compared is the CPU time of the broker's process: what else the machine does counts
less for it than for rates. The ratio is new / old: 0.5 is half of the CPU time.

    Produce        one record of 100 bytes, acks=all, one replica
    Fetch          one record; and at the end of the log, where there is none
    Metadata       one topic of one partition
    Heartbeat      of a member that the group does not know
    OffsetCommit   of a client that is in no group
"""

import argparse
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace as Body

from bench.alone import usage
from bench.checkout import BEFORE, HERE, Checkout, progress
from bench.table import number, table
from engine.client.address import Address
from engine.client.metadata import metadata_request
from engine.client.raw_connection import RawConnection
from engine.cluster.single_requests import fetch_request
from engine.errors import ErrorCode
from engine.storage import records
from engine.storage.records import Record
from engine.wire import codec
from engine.wire.apis import APIS, Api
from engine.wire.errors import RequestHeader

TOPIC, GROUP = "cost", "cost-group"
ANSWER_TIMEOUT_S = 60.0
ATTEMPTS, PAUSE_S = 100, 0.1  # until the coordinator of the group is there
WARM = 300  # requests that don't count
TIMEOUT = timedelta(seconds=10)


def frame(api: Api, body: object) -> bytes:
    return codec.encode_request(RequestHeader(api, APIS[api].newest, 1, "cost"), body)


def produce_request() -> Body:
    batch = records.encode([Record(0, time.time_ns() // 1_000_000, None, b"x" * 100)])
    rows = (Body(index=0, records=batch),)
    topics = (Body(name=TOPIC, partition_data=rows),)
    return Body(transactional_id=None, acks=-1, timeout=TIMEOUT, topic_data=topics)


def commit_request() -> Body:
    row = Body(
        partition_index=0, committed_offset=7, committed_leader_epoch=-1, committed_metadata=""
    )
    return Body(
        group_id=GROUP,
        generation_id=-1,
        member_id="",
        group_instance_id=None,
        topics=(Body(name=TOPIC, partitions=(row,)),),
    )


def heartbeat_request() -> Body:
    return Body(group_id=GROUP, generation_id=1, member_id="nobody", group_instance_id=None)


def frames() -> dict[str, bytes]:
    return {
        "Produce": frame(Api.PRODUCE, produce_request()),
        "Fetch, one record": frame(Api.FETCH, fetch_request(TOPIC, 0, offset=0, max_bytes=100)),
        "Fetch, at the end": frame(Api.FETCH, fetch_request(TOPIC, 1, offset=0, wait_ms=0)),
        "Metadata": frame(Api.METADATA, metadata_request([TOPIC])),
        "Heartbeat": frame(Api.HEARTBEAT, heartbeat_request()),
        "OffsetCommit": frame(Api.OFFSET_COMMIT, commit_request()),
    }


class BrokerUnderLoad:
    """A broker of one checkout, and a connection to it."""

    def __init__(self, name: str, python: Path, stack: ExitStack) -> None:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        checkout = Checkout(name, python, 1)
        checkout.start(home)
        stack.callback(checkout.stop)
        host, _, port = checkout.bootstrap.rpartition(":")
        self.address = host, int(port)
        self._socket = stack.enter_context(socket.create_connection(self.address, ANSWER_TIMEOUT_S))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._pid = int((home / "broker-1" / "broker.pid").read_text())

    def seconds_each(self, request: bytes, count: int) -> float:
        """CPU time of the broker for one request."""
        before = usage(self._pid).cpu
        for _ in range(count):
            self.answer(request)
        return (usage(self._pid).cpu - before) / count

    def answer(self, request: bytes) -> bytes:
        self._socket.sendall(request)
        return self._receive(int.from_bytes(self._receive(4)))

    def _receive(self, size: int) -> bytes:
        parts = []
        while size:
            part = self._socket.recv(size)
            if not part:
                raise ConnectionError("the broker has closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def prepare(broker: BrokerUnderLoad) -> None:
    """Make the topic, and wait until the group has a coordinator and its commit is accepted."""
    address = Address(*broker.address)
    row = Body(name=TOPIC, num_partitions=2, replication_factor=1, assignments=(), configs=())
    with RawConnection(address, "cost") as connection:
        creation = Body(topics=(row,), timeout=TIMEOUT, validate_only=False)
        code = connection.ask(Api.CREATE_TOPICS, creation).topics[0].error_code
        assert code == ErrorCode.none, code
        for _ in range(ATTEMPTS):
            connection.ask(Api.FIND_COORDINATOR, Body(key=GROUP, key_type=0))
            commit = connection.ask(Api.OFFSET_COMMIT, commit_request())
            code = commit.topics[0].partitions[0].error_code
            if code == ErrorCode.none:
                return
            time.sleep(PAUSE_S)
    raise RuntimeError(f"a commit is still refused with {code.name}")


def measure(pair: list[BrokerUnderLoad], count: int, rounds: int) -> Iterator[list[str]]:
    for name, request in frames().items():
        progress(name)
        for broker in pair:
            broker.seconds_each(request, WARM)
        costs = [[broker.seconds_each(request, count) for broker in pair] for _ in range(rounds)]
        ours, theirs = (statistics.median(column) for column in zip(*costs, strict=True))
        ratio = statistics.median(here / before for here, before in costs)
        yield [name, f"{1e6 * ours:.0f}", f"{1e6 * theirs:.0f}", number(ratio)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.request_cost", description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=Path, help="the other checkout")
    parser.add_argument("--requests", type=int, default=1_000, metavar="N", help="of each round")
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    options = parser.parse_args()
    before = (options.checkout / ".venv/bin/python").absolute()
    with ExitStack() as stack:
        pythons = ((HERE, Path(sys.executable)), (BEFORE, before))
        pair = [BrokerUnderLoad(name, python, stack) for name, python in pythons]
        for broker in pair:
            prepare(broker)
        rows = list(measure(pair, options.requests, options.rounds))
    print(table(["CPU time of one request, µs", HERE, BEFORE, "ratio"], rows))


if __name__ == "__main__":
    main()
