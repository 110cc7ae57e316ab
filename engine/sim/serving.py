"""A broker's server in the simulator: it calls the real handlers, with messages instead of bytes.

    from brokers   LeaderAndIsr, Fetch, ControlledShutdown ...   Kafka's requests
    from members   JoinGroup, OffsetCommit, FindCoordinator ...
    from clients   Produce, Consume, Locate                      short forms for one partition

A broker connects to a port and names the listener that it expects there. Clients name no port:
their requests arrive at the listener between brokers, whichever that is.

Left out: several requests in flight on one connection; here each request waits for its answer.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple, cast

from kio.schema.produce.v9.request import PartitionProduceData, ProduceRequest, TopicProduceData
from kio.schema.produce.v9.response import ProduceResponse

from engine.broker.broker import Broker
from engine.broker.call import Call, Handler
from engine.client.consuming.fetcher import fetch_request
from engine.errors import ErrorCode
from engine.model import Event, TopicPartition
from engine.replication.log_read import ANY_EPOCH
from engine.sim.network import Port
from engine.sim.process import Reply, SimulatedProcess
from engine.wire.apis import Api, ApiKey
from engine.wire.errors import Malformed, RequestHeader
from engine.wire.fetch import FetchAnswer

ALL = -1  # acks
READ_UNCOMMITTED, READ_COMMITTED = 0, 1  # the isolation levels
NAMES = {f"{api.name.title().replace('_', '')}Request": api for api in Api}
OF_LEADERS = 10  # the version of a Fetch that followers do not answer
CONTROLLERS = {Api.LEADER_AND_ISR, Api.STOP_REPLICA, Api.UPDATE_METADATA}  # only they send these
BYTES = 50 * 2**20  # of a fetch, at most


class Produce(NamedTuple):
    partition: TopicPartition
    batch: bytes
    acks: int
    timeout: int  # ms


class Produced(NamedTuple):
    code: ErrorCode
    offset: int = -1  # of the first record


class Consume(NamedTuple):
    partition: TopicPartition
    offset: int
    leader_epoch: int = ANY_EPOCH  # as the consumer believes
    anywhere: bool = False  # also of a follower
    rack: str = ""
    committed: bool = False  # only below the last stable offset


class Consumed(NamedTuple):
    code: ErrorCode
    records: bytes = b""
    high_watermark: int = -1
    preferred: int = -1
    aborted: tuple[tuple[int, int], ...] = ()  # first offset and producer of each


class Locate(NamedTuple):
    """Answered with the broker's PartitionInfo, or None if it does not know the partition."""

    partition: TopicPartition


class SimulatedServer:
    def __init__(
        self, process: SimulatedProcess, broker: Broker, handlers: Mapping[ApiKey, Handler]
    ) -> None:
        self._process = process
        self._broker, self._handlers = broker, handlers
        self._apis: dict[type, Api] = {}
        self._calls = {api: self._call(api, api.newest) for api in handlers}
        self._of_leaders = self._call(Api.FETCH, OF_LEADERS)
        self._ports: set[Port] = set()

    def _call(self, api: ApiKey, version: int) -> Call:
        listener = self._broker.config.inter_broker_listener
        peer = "127.0.0.1:0" if api is Api.METADATA else "sim"  # a controller is told an address
        return Call(RequestHeader(int(api), version, 0, "member"), peer, listener)

    async def bind(self, host: str, port: int, secure: str) -> int:
        self._ports.add(Port(secure, port))
        return port

    async def serve(self) -> None:
        self._process.serve(self._handle, self._is_open)

    def _is_open(self, port: Port) -> bool:
        if port not in self._ports:
            facts = {"listener": port.listener, "port": port.number}
            self._broker.events.append(Event("connection.refused", self._broker.now(), facts))
        return port in self._ports

    async def close(self) -> None:
        self._process.close_server()

    def close_idle(self) -> None:
        """There are no idle connections."""

    def _handle(self, request: Any, reply: Reply) -> None:
        if isinstance(request, Locate):
            reply(self._broker.metadata.partition(request.partition))
        else:
            self._process.spawn(self._answer(request, reply))

    async def _answer(self, request: Any, reply: Reply) -> None:
        match request:
            case Produce():
                reply(await self._produce(request))
            case Consume():
                reply(await self._consume(request))
            case _:
                reply(_copied(await self._ask(self._api(request), request)))

    def _api(self, request: Any) -> Api:
        """The API of a request class, of any version, or of a subclass."""
        kind = type(request)
        if kind not in self._apis:
            names = [each.__name__ for each in kind.__mro__]
            self._apis[kind] = next(NAMES[name] for name in names if name in NAMES)
        return self._apis[kind]

    async def _ask(self, api: Api, request: Any) -> Any:
        response = await self._handlers[api](self._calls[api], request)
        if api in CONTROLLERS and response.error_code != ErrorCode.none:
            facts = {
                "request": type(request).__name__.removesuffix("Request"),
                "controller": request.controller_id,
                "controller_epoch": request.controller_epoch,
                "error": int(response.error_code),
            }
            self._broker.events.append(Event("controller.refused", self._broker.now(), facts))
        return response

    async def _produce(self, request: Produce) -> Produced:
        (topic, partition), batch, acks, timeout = request
        row: Any = PartitionProduceData(index=partition, records=batch)
        message = ProduceRequest(
            transactional_id=None,
            acks=acks,
            timeout=timedelta(milliseconds=timeout),
            topic_data=(TopicProduceData(name=topic, partition_data=(row,)),),
        )
        try:
            response = await self._ask(Api.PRODUCE, message)
        except Malformed:  # acks=0, and an error: the real server closes the connection
            return Produced(ErrorCode.network_exception)
        if response is None:
            return Produced(ErrorCode.none)
        ((answer,),) = [each.partition_responses for each in response.responses]
        return Produced(answer.error_code, answer.base_offset)

    async def _consume(self, request: Consume) -> Consumed:
        partition, offset, leader_epoch, anywhere, rack, committed = request
        message = fetch_request(
            {partition: (offset, leader_epoch)},
            READ_COMMITTED if committed else READ_UNCOMMITTED,
            partition_bytes=BYTES,
            max_bytes=BYTES,
            min_bytes=0,
            wait_ms=0,
            rack=rack,
        )
        call = self._calls[Api.FETCH] if anywhere or rack else self._of_leaders
        response = await self._handlers[Api.FETCH](call, message)
        for found in response.responses:
            for each in found.partitions:
                records = cast(Any, each.records).read() if each.records else b""
                preferred, ends = each.preferred_read_replica, each.aborted_transactions or ()
                aborted = tuple((it.first_offset, it.producer_id) for it in ends)
                return Consumed(each.error_code, records, each.high_watermark, preferred, aborted)
        return Consumed(ErrorCode.none)


def _copied(response: Any) -> Any:
    """The response as a client decodes it: with the bytes of the log as they are now, and without a
    time of the broker's, which no topic here has."""
    if isinstance(response, ProduceResponse):
        topics = tuple(
            replace(
                each,
                partition_responses=tuple(
                    replace(row, log_append_time=None) for row in each.partition_responses
                ),
            )
            for each in response.responses
        )
        return replace(response, responses=topics)
    if isinstance(response, FetchAnswer):
        for topic in response.responses:
            for each in topic.partitions:
                if each.records:
                    each.records = cast(Any, each.records).read()
    return response
