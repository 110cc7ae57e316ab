"""A client on a raw socket: it may send anything, and sees exactly what comes back.

client = Raw(cluster.bootstrap)
client.send(b"garbage"); assert client.hung_up()          bytes by hand
client.ask(Api.METADATA, metadata("orders"), version=1)   a frame by the wire module
client.produce("orders", batch("a", "b")).error_code      the usual, for one partition
"""

import contextlib
import socket
import time
from datetime import timedelta
from itertools import count
from struct import pack
from types import SimpleNamespace as Message
from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.single_requests import fetch_request
from engine.errors import ErrorCode
from engine.storage import records
from engine.storage.batch import HEADER_SIZE, Header, check, scan, seal
from engine.storage.records import Record
from engine.wire import codec
from engine.wire.apis import APIS, Api, ApiKey
from engine.wire.errors import RequestHeader
from engine.wire.kraft_apis import KRAFT_APIS, KRaftApi
from tests.interop.watch import until
from tests.limits import ANSWER_S

CHANGES = {  # requests that change the metadata
    *(Api.CREATE_TOPICS, Api.DELETE_TOPICS, Api.CREATE_PARTITIONS, Api.ELECT_LEADERS),
    *(Api.ALTER_PARTITION_REASSIGNMENTS, Api.ALTER_CONFIGS, Api.INCREMENTAL_ALTER_CONFIGS),
    *(Api.CREATE_ACLS, Api.DELETE_ACLS, Api.ALTER_CLIENT_QUOTAS),
}


class Raw:
    """One connection. Its calls block, and fail when the broker is silent for too long."""

    def __init__(
        self,
        bootstrap: str,
        *,
        receive_buffer: int | None = None,
        source: str = "",
        client_id: str = "raw",
    ) -> None:
        """`source`: the client's own address."""
        self._client_id = client_id
        host, _, port = bootstrap.rpartition(":")
        self._socket = socket.socket()
        self._socket.bind((source, 0))
        self._socket.settimeout(ANSWER_S)
        if receive_buffer is not None:  # before connecting, or the window has its size already
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.connect((host, int(port)))
        self._numbers = count()

    # -- bytes ---------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self, size: int) -> bytes:
        """Exactly so many bytes; fewer if the broker hangs up before."""
        parts, missing = [], size
        while missing and (part := self._socket.recv(min(missing, 1 << 20))):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def frame(self) -> bytes:
        """The next answer, without its size."""
        size = int.from_bytes(self.receive(4), "big")
        return self.receive(size)

    def hung_up(self) -> bool:
        """Whether the broker closes the connection, and says nothing before it does."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionError:
            return True

    def is_silent(self) -> bool:
        """Whether nothing has come, not even the end. Nothing is taken, either."""
        self._socket.setblocking(False)
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        finally:
            self._socket.settimeout(ANSWER_S)
        return False

    def send_what_fits(self, data: bytes) -> int:
        """Send until nobody takes any more for a second; how many bytes were taken."""
        self._socket.settimeout(1)
        taken = 0
        try:
            while taken < len(data):
                taken += self._socket.send(data[taken : taken + (1 << 18)])
        except TimeoutError:
            return taken
        finally:
            self._socket.settimeout(ANSWER_S)
        return taken

    def hang_up(self) -> None:
        """Say that nothing more will come; what is on its way can still be read."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Send nothing any more. The broker closes the connection, too: `hung_up` waits for it."""
        self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- requests ------------------------------------------------------------------------

    def ask(self, api: ApiKey, request: Any, version: int | None = None) -> Any:
        """The response. This broker has heard of what it says that was changed."""
        header = self.post(api, request, version)
        response = codec.decode_response(header, self.frame(), table_of(api))
        if api in CHANGES and not response.throttle_time:
            self.catch_up()
        return response

    def catch_up(self) -> None:
        """Without ZooKeeper, the controller answers when a change is committed in the metadata log;
        the broker reads it there a moment later. Wait until it has read what is committed now."""
        if not self._has_quorum():
            return  # with ZooKeeper the controller has told the broker before
        log = Message(topic_name="__cluster_metadata", partitions=(Message(partition_index=0),))
        quorum = self.ask(KRaftApi.DESCRIBE_QUORUM, Message(topics=(log,)))
        if quorum.error_code == ErrorCode.none:  # or this client may not ask
            mark = quorum.topics[0].partitions[0].high_watermark
            until(lambda: self._metadata_offset() >= mark - 1)

    def _has_quorum(self) -> bool:
        served = self._versions().api_keys
        return any(each.api_key == KRaftApi.DESCRIBE_QUORUM for each in served)

    def _metadata_offset(self) -> int:
        """Of the last record of the metadata log that this broker has applied; -1: it has none."""
        offset: int = self._versions().finalized_features_epoch
        return offset

    def _versions(self) -> Any:
        request = Message(client_software_name="raw", client_software_version="1")
        return self.ask(Api.API_VERSIONS, request)

    def post(self, api: ApiKey, request: Any, version: int | None = None) -> RequestHeader:
        """Send without waiting for the answer; the header is what it takes to decode that."""
        apis = table_of(api)
        api = apis[api]
        header = RequestHeader(
            api,
            api.newest if version is None else version,
            next(self._numbers),
            self._client_id,
        )
        with contextlib.suppress(ConnectionError):  # hung up on already: `frame` will tell
            self.send(codec.encode_request(header, request, apis))
        return header

    def produce(self, topic: str, records: bytes | None, version: int = 9, **more: Any) -> Any:
        answer = self.ask(Api.PRODUCE, produce(topic, records, **more), version)
        return answer.responses[0].partition_responses[0]

    def fetch(self, topic: str, offset: int, **more: Any) -> Any:
        return self.ask(Api.FETCH, fetch(topic, offset, **more)).responses[0].partitions[0]

    def read(self, topic: str, offset: int = 0, partition: int = 0) -> list[Record]:
        """All records from an offset on, checked as a consumer would."""
        found: list[Record] = []
        while True:
            data = self.fetch(topic, offset, partition=partition, max_wait=0).records
            got = [record for record in unpacked(data) if record.offset >= offset]
            if not got:
                return found
            found += got
            offset = got[-1].offset + 1

    def end_offset(self, topic: str, partition: int = 0, *, isolation: int = 0) -> int:
        return self.offset_of(topic, -1, partition, isolation=isolation)

    def offset_of(
        self, topic: str, timestamp: int, partition: int = 0, *, isolation: int = 0
    ) -> int:
        each = Message(partition_index=partition, current_leader_epoch=-1, timestamp=timestamp)
        topics = (Message(name=topic, partitions=(each,)),)
        request = Message(replica_id=-1, isolation_level=isolation, topics=topics)
        offset: int = self.ask(Api.LIST_OFFSETS, request).topics[0].partitions[0].offset
        return offset

    def create(
        self, topic: str, partitions: int = 1, replication: int = 1, **configs: object
    ) -> int:
        """The error code; keys have `_` for `.`."""
        request = create(topic, partitions, replication, **configs)
        return int(self.ask(Api.CREATE_TOPICS, request).topics[0].error_code)

    def delete(self, topic: str) -> int:
        wanted = Message(name=topic, topic_id=None)
        request = Message(topics=(wanted,), timeout=timedelta(seconds=ANSWER_S))
        return int(self.ask(Api.DELETE_TOPICS, request).responses[0].error_code)

    def topics(self, *names: str, create: bool = False) -> list[Any]:
        return list(self.ask(Api.METADATA, metadata(*names, create=create)).topics)

    def brokers(self) -> list[Any]:
        return list(self.ask(Api.METADATA, metadata()).brokers)

    def controller(self) -> int:
        number: int = self.ask(Api.METADATA, metadata()).controller_id
        return number

    def producer_id(self) -> int:
        request = Message(
            transactional_id=None,
            transaction_timeout=timedelta(minutes=1),
            producer_id=-1,
            producer_epoch=-1,
        )
        number: int = self.ask(Api.INIT_PRODUCER_ID, request).producer_id
        return number

    def is_served(self) -> bool:
        """A question that every broker answers."""
        request = Message(client_software_name="raw", client_software_version="1")
        return int(self.ask(Api.API_VERSIONS, request).error_code) == 0


def table_of(api: ApiKey) -> codec.Apis:
    """Of the mode that has a row for it."""
    return KRAFT_APIS if isinstance(api, KRaftApi) else APIS


def caught_up(cluster: Cluster) -> None:
    """Wait until every broker has heard of all that was changed, by whatever client."""
    for broker in cluster.bootstrap.split(","):
        with Raw(broker) as client:
            client.catch_up()


# -- requests, in the shape of their newest version ------------------------------------------


def produce(
    topic: str,
    records: bytes | None,
    *,
    partition: int = 0,
    acks: int = -1,
    transactional_id: str | None = None,
    more: tuple[Any, ...] = (),
) -> Message:
    """`more`: further partitions of the topic, as (number, batch)."""
    parts = [(partition, records), *more]
    data = tuple(Message(index=number, records=batch) for number, batch in parts)
    return Message(
        transactional_id=transactional_id,
        acks=acks,
        timeout=timedelta(seconds=ANSWER_S),
        topic_data=(Message(name=topic, partition_data=data),),
    )


def fetch(
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    max_bytes: int = 1 << 20,
    max_wait: int = 0,
    session: tuple[int, int] = (0, -1),  # id and epoch: without a session
) -> Message:
    request = fetch_request(topic, partition, offset=offset, wait_ms=max_wait, max_bytes=max_bytes)
    request.session_id, request.session_epoch = session
    return request


def metadata(*names: str, create: bool = False) -> Message:
    return Message(
        topics=tuple(Message(name=name, topic_id=None) for name in names),
        allow_auto_topic_creation=create,
        include_topic_authorized_operations=False,
    )


def create(topic: str, partitions: int = 1, replication: int = 1, **configs: object) -> Message:
    settings = tuple(
        Message(name=key.replace("_", "."), value=str(value)) for key, value in configs.items()
    )
    wanted = Message(
        name=topic,
        num_partitions=partitions,
        replication_factor=replication,
        assignments=(),
        configs=settings,
    )
    return Message(topics=(wanted,), timeout=timedelta(seconds=ANSWER_S), validate_only=False)


def framed(message: bytes, size: int | None = None) -> bytes:
    """A message with its size in front of it, or with a lie."""
    return pack(">i", len(message) if size is None else size) + message


# -- batches ---------------------------------------------------------------------------------


def batch(*values: str | bytes, **more: Any) -> bytes:
    """A good one; `more` goes to `records.encode`."""
    now = time.time_ns() // 1_000_000
    encoded = [value.encode() if isinstance(value, str) else value for value in values]
    return records.encode(
        [Record(offset, now, None, value) for offset, value in enumerate(encoded)], **more
    )


def undecided(*values: str) -> bytes:
    """Of a transaction that does not end, by a producer whose id no broker has given to another.
    Its request needs a transactional id."""
    producer = {"producer_id": 1 << 40, "producer_epoch": 0, "base_sequence": 0}
    return batch(*values, transactional=True, **producer)


def altered(good: bytes, payload: bytes | None = None, **fields: int) -> bytes:
    """The batch with other fields in its header, or another payload, and the CRC made to fit."""
    header = Header.parse(good)._replace(**fields)
    return seal(header, good[HEADER_SIZE:] if payload is None else payload)


def unpacked(data: bytes | None) -> list[Record]:
    """The records of a fetch's answer, CRCs checked; a last batch that was cut is left out."""
    found: list[Record] = []
    for position, header in scan(data or b""):
        whole = (data or b"")[position : position + header.size]
        check(whole)
        found += records.decode(whole)
    return found
