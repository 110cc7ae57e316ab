"""Partitions in memory, and one consumer's cores that read them, with a clock that we turn.

    Reading ── cores (view, positions, offsets, fetching) ── asks ── Logs: leaders, epochs, batches

A fetch that finds nothing is kept, as a broker would keep it, until something is appended, its
time is over, or the leader moves. `settle` lets everything go on until nobody has more to say,
and `pass_time` does the same for a while.

Invariant: nobody is busy for nothing: a core that is due asks something, or is due later.
"""

from types import SimpleNamespace as Message

from engine.client.consuming.fetcher import ConsumerFetcher
from engine.client.consuming.offset_lookup import EARLIEST, LATEST, OffsetLookups
from engine.client.consuming.positions import Positions
from engine.client.core import ANY
from engine.client.metadata import MetadataView
from engine.config.consumer import ConsumerConfig
from engine.errors import ApiException, ErrorCode
from engine.model import NO_BROKER, TopicPartition
from engine.storage import records
from engine.storage.records import Record
from engine.wire.apis import Api

NONE, START = ErrorCode.none, 1000.0
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Log:
    """One partition, as its leader has it."""

    def __init__(self):
        self.leader, self.epoch = 1, 0
        self.start = self.end = 0
        self.stable = None  # the last stable offset, if that is not the end
        self.batches = []  # first offset, next offset, epoch, bytes
        self.aborted = ()
        self.preferred = -1  # the replica to read from

    def append(self, *values, at=None, **more):
        """One batch; returns its first offset."""
        first, at = self.end, at or [1000 + self.end + n for n in range(len(values))]
        found = [
            Record(first + n, at[n], None, value.encode() if isinstance(value, str) else value)
            for n, value in enumerate(values)
        ]
        data = records.encode(found, base_offset=first, leader_epoch=self.epoch, **more)
        self.end = first + len(values)
        self.batches.append((first, self.end, self.epoch, data))
        return first

    def elect(self, leader, keep=None):
        """A new leader, which has the records before `keep` only."""
        self.leader, self.epoch = leader, self.epoch + 1
        if keep is not None:
            self.batches = [each for each in self.batches if each[1] <= keep]
            self.end = keep

    def fetch(self, offset):
        return b"".join(data for _, end, _, data in self.batches if end > offset)

    def end_of(self, epoch):
        """The largest epoch not above, and where it ends."""
        known = [each for _, _, each, _ in self.batches if each <= epoch]
        if not known:
            return -1, -1
        later = [first for first, _, each, _ in self.batches if each > epoch]
        return max(known), min(later, default=self.end)

    def at(self, timestamp):
        for _, _, _, data in self.batches:
            for record in records.decode(data):
                if record.timestamp >= timestamp:
                    return record.offset, record.timestamp
        return -1, -1


class Reading:
    """A consumer, and the cluster that it reads."""

    def __init__(self, partitions=2, **config):
        self.config = ConsumerConfig(
            **{"bootstrap_servers": ("b:1",), "auto_offset_reset": "earliest"} | config
        )
        self.now = START
        self.logs = {TopicPartition("t", number): Log() for number in range(partitions)}
        self.brokers = {1, 2}  # that are alive
        self.refusals = {}  # the next answer to an API is this error
        self.committed = {}  # by the group, if this is not None
        self.asked = []  # every ask
        self.held = []  # fetches that found nothing, and when that is over
        self.events = []
        self.view = MetadataView(self.config)
        self.offsets = OffsetLookups(self.config)
        self.positions = Positions(self.config, self.offsets, None, self.events.append)
        self.fetching = ConsumerFetcher(self.config, self.positions)
        self.cores = [self.view, self.positions, self.offsets, self.fetching]

    def place(self, partition=P0):
        return self.positions.places[partition]

    def requests(self, api):
        return [ask.request for ask in self.asked if ask.api is api]

    def told(self):
        return [event.kind for event in self.events]

    def read(self, limit=1000):
        """What the application gets: values, in order."""
        found = []
        committed = self.config.isolation_level == "read_committed"
        self.settle()
        while self.fetching.fetched:
            fetched = self.fetching.fetched.popleft()
            while fetched.is_valid and not fetched.is_exhausted:
                found += fetched.unpack(limit, committed).take(limit)
            if fetched.is_valid:
                fetched.place.ready -= 1
                if fetched.is_end:
                    found.append(fetched.end())
            self.settle()
        return [(each.value() or b"").decode() if not each.error() else "END" for each in found]

    # -- time ----------------------------------------------------------------------------

    def settle(self):
        for _ in range(1000):
            asks = [(core, ask) for core in self.cores for ask in core.step(self.now, self.view)]
            waiting, self.held = self.held, []
            for core, ask, until in waiting:
                self._serve(core, ask, until)
            for core, ask in asks:
                self.asked.append(ask)
                self._serve(core, ask, self.now + 0.5)
            # A core may want something of one that has had its step, and is due now.
            idle = all(core.due() is None or core.due() > self.now for core in self.cores)
            if idle and not asks and len(self.held) == len(waiting):
                return
        raise AssertionError("busy for nothing")

    def pass_time(self, seconds):
        end = self.now + seconds
        self.settle()
        while self.now < end:
            dues = [core.due() for core in self.cores] + [until for _, _, until in self.held]
            self.now = min([due for due in dues if due is not None] + [end])
            self.settle()

    # -- brokers -------------------------------------------------------------------------

    def _serve(self, core, ask, until):
        broker = min(self.brokers, default=0) if ask.to == ANY else ask.to
        if broker not in self.brokers:
            core.failed(ask, ApiException(ErrorCode.network_exception), self.now)
            return
        code = self.refusals.pop(ask.api, NONE)
        response = self._response(ask, broker, code, is_late=self.now >= until)
        if response is None:
            self.held.append((core, ask, until))
        else:
            core.answered(ask, response, self.now)

    def _response(self, ask, broker, code, is_late):
        match ask.api:
            case Api.METADATA:
                return self._metadata(ask.request)
            case Api.FETCH:
                rows = self._rows(ask.request.topics, "topic", "partition")
                found = [self._fetch(key, row, broker, code) for key, row in rows]
                if not is_late and not any(each.records or each.error_code for each in found):
                    return (
                        None
                        if all(each.preferred_read_replica < 0 for each in found)
                        else (
                            Message(
                                error_code=NONE, responses=(Message(topic="t", partitions=found),)
                            )
                        )
                    )
                return Message(error_code=NONE, responses=(Message(topic="t", partitions=found),))
            case Api.LIST_OFFSETS:
                rows = self._rows(ask.request.topics, "name", "partition_index")
                assert len(rows) == len(dict(rows)), "no broker takes a partition twice"
                found = [self._offset(key, row, broker, code) for key, row in rows]
                return Message(topics=(Message(name="t", partitions=found),))
            case Api.OFFSET_FOR_LEADER_EPOCH:
                rows = self._rows(ask.request.topics, "topic", "partition")
                found = [self._end(key, row, broker, code) for key, row in rows]
                return Message(topics=(Message(topic="t", partitions=found),))

    @staticmethod
    def _rows(topics, name, number):
        return [
            (TopicPartition(getattr(topic, name), getattr(row, number)), row)
            for topic in topics
            for row in topic.partitions
        ]

    def _error(self, key, row, broker):
        log = self.logs[key]
        if log.leader != broker:
            return ErrorCode.not_leader_or_follower
        if row.current_leader_epoch < log.epoch:
            return ErrorCode.fenced_leader_epoch
        return NONE

    def _fetch(self, key, row, broker, code):
        log = self.logs[key]
        if not code and broker != log.preferred:
            code = self._error(key, row, broker)
        if not code and not log.start <= row.fetch_offset <= log.end:
            code = ErrorCode.offset_out_of_range
        elsewhere = log.preferred not in (-1, broker)
        return Message(
            partition_index=key.partition,
            error_code=code,
            high_watermark=log.end,
            last_stable_offset=log.end if log.stable is None else log.stable,
            log_start_offset=log.start,
            aborted_transactions=[
                Message(producer_id=producer, first_offset=first) for first, producer in log.aborted
            ],
            preferred_read_replica=log.preferred if elsewhere else -1,
            records=b"" if code or elsewhere else log.fetch(row.fetch_offset),
        )

    def _offset(self, key, row, broker, code):
        log, code = self.logs[key], code or self._error(key, row, broker)
        known = {EARLIEST: (log.start, -1), LATEST: (log.end, -1)}
        offset, timestamp = known.get(row.timestamp) or log.at(row.timestamp)
        return Message(
            partition_index=key.partition,
            error_code=code,
            offset=-1 if code else offset,
            timestamp=timestamp,
            leader_epoch=log.epoch,
        )

    def _end(self, key, row, broker, code):
        epoch, end = self.logs[key].end_of(row.leader_epoch)
        return Message(
            partition=key.partition,
            error_code=code or self._error(key, row, broker),
            leader_epoch=epoch,
            end_offset=end,
        )

    def _metadata(self, request):
        names = {each.name for each in request.topics or ()} if request.topics else {"t"}
        return Message(
            cluster_id=None,
            controller_id=1,
            brokers=[Message(node_id=it, host="b", port=it, rack=None) for it in self.brokers],
            topics=[self._topic(name) for name in sorted(names)],
        )

    def _topic(self, name):
        mine = [(key, log) for key, log in self.logs.items() if key.topic == name]
        return Message(
            name=name,
            topic_id=None,
            is_internal=False,
            error_code=NONE if mine else ErrorCode.unknown_topic_or_partition,
            partitions=[
                Message(
                    partition_index=key.partition,
                    leader_id=log.leader if log.leader in self.brokers else NO_BROKER,
                    leader_epoch=log.epoch,
                    replica_nodes=(1, 2),
                    isr_nodes=(1,),
                )
                for key, log in mine
            ],
        )
