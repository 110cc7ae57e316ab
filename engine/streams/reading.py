"""What a task does: read one range of offsets of a partition, from whoever leads it.

    leader    | answer |          | answer |          | answer |
              ^        v          ^        v          ^        v
    task      fetch 1  fetch 2 ...         fetch 3 ...         -> columns -> Spark
                       columns of answer 1 columns of answer 2

The next fetch is on its way before the answer to the last one is unpacked: where it goes on is in
the headers of the batches. When the leader is gone, the cluster is asked for the new one, for as
long as `patience` lasts; what was read already is with Spark, and is not read again.

Offsets may be missing within the range: compaction took them, or they are control records or, with
isolation.level=read_committed, those of transactions that came to nothing. So the end is where the
position reaches it, or where the broker has nothing more although its log goes on to there. What
retention took away meanwhile is another matter: `failOnDataLoss` decides.

Invariant: records come in the order of their offsets, each once, start <= offset < end.
"""

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from kio.schema.fetch.v12.request import FetchPartition, FetchRequest, FetchTopic

from engine.client.cluster import BACKOFF, PASSING, UNREACHABLE, ClusterView, check
from engine.client.connection import Connection
from engine.client.reader import CONSUMER, EARLIEST, LATEST, find_offset
from engine.errors import ErrorCode, KafkaError
from engine.storage import control, records
from engine.storage.batch import Header, crc_ok, framed, scan
from engine.streams.columns import columns
from engine.streams.options import ReadOptions
from engine.streams.splits import Split
from engine.wire.apis import Api

MAX_WAIT = timedelta(seconds=0.5)  # fetch.max.wait.ms
FIRST_BYTES = 1024 * 1024  # of the first fetch: a short range needs no more
LEAST_BYTES = 64 * 1024
MOST_BYTES = 8 * 1024 * 1024  # of the others

log = logging.getLogger(__name__)


def read(split: Split, options: ReadOptions) -> Iterator[Any]:
    """The records of a range, as Arrow batches of the columns in columns.py."""
    with opened(options) as cluster:
        yield from Range(cluster, split, options).read()


@contextmanager
def opened(options: ReadOptions) -> Iterator[ClusterView]:
    """A view of the cluster; when no broker answers, one may soon."""
    until = time.monotonic() + options.patience
    while True:
        try:
            cluster = ClusterView(
                options.addresses,
                options.consumer.client_id or "brokerlab",
                options.consumer.request_timeout_ms / 1000,
                options.patience,
            )
            break
        except KafkaError as error:
            if error.code not in UNREACHABLE or time.monotonic() + BACKOFF > until:
                raise
        time.sleep(BACKOFF)
    with cluster:
        yield cluster


class Range:
    """A split while it is read."""

    def __init__(self, cluster: ClusterView, split: Split, options: ReadOptions) -> None:
        self._cluster = cluster
        self._partition = split.at
        self._at = split.start  # the next offset
        self._end = split.end
        self._options = options
        self._consumer = options.consumer
        self._committed = self._consumer.isolation_level == "read_committed"
        self._pipe: Connection | None = None  # to the leader, with a fetch on its way
        self._since = time.monotonic()  # nothing was read any more

    def read(self) -> Iterator[Any]:
        self._cluster.topic(self._partition.topic)
        most = FIRST_BYTES
        while self._at < self._end:
            answer = self._answer(most)
            if answer.error_code == ErrorCode.offset_out_of_range:
                self._jump()
            elif answer.records:
                start, batches = self._at, self._batches(answer)
                if self._at < self._end:
                    most = self._estimate(len(answer.records), self._at - start)
                    self._prefetch(most)
                yield from self._columns(batches, start)
                self._since = time.monotonic()
            elif self._goes_to(answer) >= self._end:
                return  # nothing is left in there
            elif self._is_tired:
                self._give_up(answer)

    @property
    def _is_tired(self) -> bool:
        return time.monotonic() - self._since > self._options.patience

    def _columns(self, batches: list[memoryview], start: int) -> Iterator[Any]:
        headers = self._options.include_headers
        try:
            yield from columns(batches, self._partition, start, self._end, headers)
        except KafkaError as error:
            why = f"{self._partition}, offsets {start} to {self._at - 1}: {error.message}"
            raise KafkaError(error.code, why) from error

    # -- the leader ----------------------------------------------------------------------

    def _answer(self, most: int) -> Any:
        """The answer to the fetch on its way, or to a new one, of whoever leads in the end."""

        def attempt() -> Any:
            if self._pipe is None:
                self._send(most)
            pipe, self._pipe = self._pipe, None
            assert pipe is not None
            response = pipe.receive().response
            check(response.error_code, what="fetch")
            for topic in response.responses:
                for answer in topic.partitions:
                    if answer.error_code != ErrorCode.offset_out_of_range:
                        check(answer.error_code, what=str(self._partition))
                    return answer
            raise KafkaError(ErrorCode.request_timed_out, "the broker throttles us")

        try:
            return self._cluster.retry(attempt)
        except KafkaError as error:
            left = f"offsets {self._at} to {self._end - 1}"
            why = f"{self._partition}: {left} could not be read: {error.message}"
            raise KafkaError(error.code, why) from error

    def _prefetch(self, most: int) -> None:
        try:
            self._send(most)
        except KafkaError as error:
            if error.code not in PASSING:
                raise
            self._pipe = None  # it is sent again when the answer is wanted

    def _send(self, most: int) -> None:
        pipe = self._cluster.node(self._cluster.leader(self._partition))
        wanted = FetchPartition(
            partition=self._partition.partition, fetch_offset=self._at, partition_max_bytes=most
        )
        request = FetchRequest(
            replica_id=CONSUMER,
            max_wait=MAX_WAIT,
            min_bytes=1,
            max_bytes=most,
            isolation_level=int(self._committed),
            topics=(FetchTopic(topic=self._partition.topic, partitions=(wanted,)),),
            forgotten_topics_data=(),
        )
        pipe.send(Api.FETCH, request)
        self._pipe = pipe

    def _estimate(self, size: int, offsets: int) -> int:
        """Bytes that the rest of the range takes, with something to spare, or as many as may be."""
        rest = size * (self._end - self._at) // offsets
        return max(min(rest + rest // 4, MOST_BYTES), LEAST_BYTES)

    # -- answers -------------------------------------------------------------------------

    def _batches(self, answer: Any) -> list[memoryview]:
        """The batches that count; the position is behind them and all others then."""
        before, data, found = self._at, answer.records, list[memoryview]()
        aborted = Aborted(
            (each.first_offset, each.producer_id) for each in answer.aborted_transactions or ()
        )
        for position, header in scan(data):
            batch = data[position : position + header.size]
            self._check(batch)
            if header.next_offset > self._at:
                if not (aborted.covers(header, batch) or header.is_control):
                    found.append(batch)
                self._at = header.next_offset
        if self._at == before:
            why = f"{self._partition}: {len(data)} bytes at offset {before}, and no batch in them"
            raise KafkaError(ErrorCode.corrupt_message, why)
        return found

    def _check(self, batch: memoryview) -> None:
        try:
            header = framed(batch)
        except KafkaError as error:
            raise KafkaError(error.code, f"{self._partition}: {error.message}") from error
        if self._consumer.check_crcs and not crc_ok(batch, 0, header):
            why = f"{self._partition}: the batch at offset {header.base_offset} does not match its"
            raise KafkaError(ErrorCode.corrupt_message, f"{why} CRC")

    def _goes_to(self, answer: Any) -> int:
        """Up to where we may read, as far as the leader knows."""
        goes_to: int = answer.last_stable_offset if self._committed else answer.high_watermark
        return goes_to

    # -- what is gone --------------------------------------------------------------------

    def _jump(self) -> None:
        """The offset is not in the log: it begins later, or ends before."""
        first = find_offset(self._cluster, self._partition, EARLIEST).offset
        last = find_offset(self._cluster, self._partition, LATEST).offset
        if self._at < first:
            self._lose(min(first, self._end), f"the log begins at {first} now")
        elif self._at > last:
            self._lose(self._end, f"the log ends at {last} now")
        elif self._is_tired:
            why = f"offset {self._at} is refused, although the log has offsets {first} to {last}"
            raise KafkaError(ErrorCode.offset_out_of_range, f"{self._partition}: {why}")
        else:
            time.sleep(BACKOFF)  # leaders have changed meanwhile

    def _give_up(self, answer: Any) -> None:
        """Patience is over, and the log does not grow to where it was once."""
        goes_to, patience = self._goes_to(answer), self._options.patience
        if answer.high_watermark >= self._end:
            raise KafkaError(
                ErrorCode.request_timed_out,
                f"{self._partition}: a transaction that is open since offset {goes_to} held up "
                f"offsets {self._at} to {self._end - 1} for {patience:g} s",
            )
        self._lose(self._end, f"for {patience:g} s the log has ended at {goes_to}")

    def _lose(self, until: int, why: str) -> None:
        text = f"{self._partition}: offsets {self._at} to {until - 1} are gone: {why}"
        if self._options.fail_on_data_loss:
            raise KafkaError(
                ErrorCode.offset_out_of_range,
                f"{text}. Retention or a deleted topic does that; with failOnDataLoss=false a "
                "query goes on with what there is",
            )
        log.warning("%s", text)
        self._at = until


class Aborted:
    """Which batches of an answer belong to transactions that came to nothing.

    The answer says of each such transaction who wrote it, and its first offset. From there on all
    transactional batches of that producer are to be passed over, up to the control batch that
    says ABORT; the next transaction of the same producer may be one that counts.
    """

    def __init__(self, transactions: Iterable[tuple[int, int]]) -> None:
        self._coming = sorted(transactions)  # (first offset, producer)
        self._producers: set[int] = set()  # within an aborted transaction, at this place

    def covers(self, header: Header, batch: memoryview) -> bool:
        """Ask of every batch, in the order of the log."""
        while self._coming and self._coming[0][0] <= header.last_offset:
            self._producers.add(self._coming.pop(0)[1])
        if header.producer_id not in self._producers or not header.is_transactional:
            return False
        if header.is_control:
            for record in records.decode(batch):  # none, if compaction took it
                if control.decode(record).type is control.ControlType.ABORT:
                    self._producers.discard(header.producer_id)
        return True
