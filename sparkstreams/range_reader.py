"""Reads one range of offsets of a partition from its leader: the work of a task.

    leader    | answer |          | answer |          | answer |
              ^        v          ^        v          ^        v
    task      fetch 1  fetch 2 ...         fetch 3 ...         -> columns -> Spark
                       columns of answer 1 columns of answer 2

The next fetch is sent before the answer to the last one is unpacked: the headers of the batches
have the next offset. When the leader is gone, the new one is looked up, until `patience` is over;
records that were read already are not read again.

Offsets may be missing within the range: compaction removed them, or they are control records or,
with isolation.level=read_committed, those of aborted transactions. So reading ends when the
position reaches the end, or when the broker has no more records although its log goes to the end.
If retention deleted records meanwhile, `failOnDataLoss` decides.

Invariant: records come in the order of their offsets, each once, start <= offset < end.
"""

import logging
import time
from collections.abc import Iterator
from typing import Any

from engine.client.admin.requests import find_offset
from engine.client.cluster import PASSING, RETRY_BACKOFF_S, ClusterClient, check
from engine.client.consuming.completed_fetch import AbortedTransactions
from engine.client.consuming.fetcher import fetch_request
from engine.client.consuming.offset_lookup import EARLIEST, LATEST
from engine.client.network import Submitted
from engine.errors import ApiException, ErrorCode
from engine.model import NO_EPOCH
from engine.storage.batch import crc_ok, framed, scan
from engine.wire.apis import Api
from sparkstreams.columns import columns
from sparkstreams.source_options import ReadOptions
from sparkstreams.splits import Split

FIRST_BYTES = 1024 * 1024  # of the first fetch: a short range needs no more
LEAST_BYTES = 64 * 1024
MOST_BYTES = 8 * 1024 * 1024  # of the others

log = logging.getLogger(__name__)


def read(split: Split, options: ReadOptions) -> Iterator[Any]:
    """The records of a range, as Arrow batches of the columns in columns.py."""
    with options.connect(options.patience, waits=True) as cluster:
        yield from RangeReader(cluster, split, options).read()


class RangeReader:
    """A split while it is read."""

    def __init__(self, cluster: ClusterClient, split: Split, options: ReadOptions) -> None:
        self._cluster = cluster
        self._partition = split.at
        self._at = split.start  # the next offset
        self._end = split.end
        self._options = options
        self._consumer = options.consumer
        self._committed = self._consumer.isolation_level == "read_committed"
        self._sent: Submitted | None = None  # the fetch in flight
        self._since = time.monotonic()  # the last time that records came

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
                return  # no records are left in the range
            elif self._is_late:
                self._give_up(answer)

    @property
    def _is_late(self) -> bool:
        return time.monotonic() - self._since > self._options.patience

    def _columns(self, batches: list[memoryview], start: int) -> Iterator[Any]:
        headers = self._options.include_headers
        try:
            yield from columns(batches, self._partition, start, self._end, headers)
        except ApiException as error:
            why = f"{self._partition}, offsets {start} to {self._at - 1}: {error.message}"
            raise ApiException(error.code, why) from error

    # -- the leader ----------------------------------------------------------------------

    def _answer(self, most: int) -> Any:
        """The answer to the fetch in flight, or to a new one, also after a change of the leader."""

        def attempt() -> Any:
            if self._sent is None:
                self._send(most)
            sent, self._sent = self._sent, None
            assert sent is not None
            response = self._cluster.result(sent)
            check(response.error_code, what="fetch")
            for topic in response.responses:
                for answer in topic.partitions:
                    if answer.error_code != ErrorCode.offset_out_of_range:
                        check(answer.error_code, what=str(self._partition))
                    return answer
            raise ApiException(ErrorCode.request_timed_out, "the broker throttles us")

        try:
            return self._cluster.retry(attempt)
        except ApiException as error:
            left = f"offsets {self._at} to {self._end - 1}"
            why = f"{self._partition}: {left} could not be read: {error.message}"
            raise ApiException(error.code, why) from error

    def _prefetch(self, most: int) -> None:
        try:
            self._send(most)
        except ApiException as error:
            if error.code not in PASSING:
                raise
            self._sent = None  # it is sent again when the answer is wanted

    def _send(self, most: int) -> None:
        wanted = {self._partition: (self._at, NO_EPOCH)}
        request = fetch_request(wanted, int(self._committed), partition_bytes=most, max_bytes=most)
        leader = self._cluster.leader(self._partition)
        self._sent = self._cluster.submit(leader, Api.FETCH, request)

    def _estimate(self, size: int, offsets: int) -> int:
        """The bytes of the rest of the range and a quarter more, within the limits."""
        rest = size * (self._end - self._at) // offsets
        return max(min(rest + rest // 4, MOST_BYTES), LEAST_BYTES)

    # -- answers -------------------------------------------------------------------------

    def _batches(self, answer: Any) -> list[memoryview]:
        """The batches with records to deliver; the position moves after all batches."""
        before, data, found = self._at, answer.records, list[memoryview]()
        aborted = AbortedTransactions(
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
            raise ApiException(ErrorCode.corrupt_message, why)
        return found

    def _check(self, batch: memoryview) -> None:
        try:
            header = framed(batch)
        except ApiException as error:
            raise ApiException(error.code, f"{self._partition}: {error.message}") from error
        if self._consumer.check_crcs and not crc_ok(batch, 0, header):
            why = f"{self._partition}: the batch at offset {header.base_offset} does not match its"
            raise ApiException(ErrorCode.corrupt_message, f"{why} CRC")

    def _goes_to(self, answer: Any) -> int:
        """The end of what may be read, by the leader."""
        return int(answer.last_stable_offset if self._committed else answer.high_watermark)

    # -- lost records --------------------------------------------------------------------

    def _jump(self) -> None:
        """The offset is not in the log, which starts later or ends before."""
        first = find_offset(self._cluster, self._partition, EARLIEST).offset
        last = find_offset(self._cluster, self._partition, LATEST).offset
        if self._at < first:
            self._lose(min(first, self._end), f"the log begins at {first} now")
        elif self._at > last:
            self._lose(self._end, f"the log ends at {last} now")
        elif self._is_late:
            why = f"offset {self._at} is refused, although the log has offsets {first} to {last}"
            raise ApiException(ErrorCode.offset_out_of_range, f"{self._partition}: {why}")
        else:
            time.sleep(RETRY_BACKOFF_S)  # leaders have changed meanwhile

    def _give_up(self, answer: Any) -> None:
        """`patience` is over, and the log still ends before the end of the range."""
        goes_to, patience = self._goes_to(answer), self._options.patience
        if answer.high_watermark >= self._end:
            raise ApiException(
                ErrorCode.request_timed_out,
                f"{self._partition}: a transaction that is open since offset {goes_to} held up "
                f"offsets {self._at} to {self._end - 1} for {patience:g} s",
            )
        self._lose(self._end, f"for {patience:g} s the log has ended at {goes_to}")

    def _lose(self, until: int, why: str) -> None:
        text = f"{self._partition}: offsets {self._at} to {until - 1} are gone: {why}"
        if self._options.fail_on_data_loss:
            raise ApiException(
                ErrorCode.offset_out_of_range,
                f"{text}. Retention or a deleted topic does that; with failOnDataLoss=false a "
                "query goes on with what there is",
            )
        log.warning("%s", text)
        self._at = until
