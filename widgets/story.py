"""From a cluster's events to lines of text for a learner.

    events ──> Story ──┬──> lines      12.31  ▲ broker 2 killed (SIGKILL)
                       │               14.35  ★ new leader of orders-1: 2 → 3, epoch 4
                       └──> outages    from 12.31 to 14.36, orders-1, because of broker 2

Similar events at the same time (a controller elects thirty leaders) are one line. Kafka's internal
topics ("__consumer_offsets") have none.

An outage begins when a leader is killed, dies or is paused, and ends when another broker, or the
same one again, has taken up the leadership of each partition that it led.

Invariants: `add` takes events in the order of the stream, each once; the lines are in the order of
time, also if a source reports late.
"""

from bisect import insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.link_faults import FIRST_CONTROLLER, controller
from engine.coordinator.transactions.metadata import TxnState
from engine.model import TopicPartition
from widgets.tables import rows_of

TOGETHER = 300  # ms within which events of one kind are one line
NAMED = 3  # partitions that are named; the rest is counted

Facts: TypeAlias = dict[str, Any]


class Sort(NamedTuple):
    """The look of a kind of line."""

    glyph: str
    look: str
    weight: int  # the heavier one is shown if there is room for only one


FAULT = Sort("▲", "bad", 4)
CURE = Sort("●", "ok", 2)
CROWN = Sort("♛", "crown", 3)
ELECTION = Sort("★", "lead", 3)
EXPIRY = Sort("◆", "rose", 3)
LOSS = Sort("✂", "bad", 4)
NEWS = Sort("○", "soft", 1)
STEP = Sort("◎", "lead", 4)


@dataclass(slots=True)
class StoryLine:
    at: int  # ms since 1970
    sort: Sort
    words: str
    short: str  # on the timeline
    kind: str
    parts: list[str] = field(default_factory=list)  # the joined events


@dataclass(slots=True)
class Outage:
    began: int
    broker: int
    cause: str  # killed, died, paused
    partitions: tuple[TopicPartition, ...]
    missing: set[TopicPartition]  # still without a leader that serves
    expired: int | None = None  # when the cluster noticed that the broker's session was over
    ended: int | None = None
    cut: list[tuple[TopicPartition, int, int]] = field(default_factory=list)  # that only it had


def internal(topic: str) -> bool:
    return topic.startswith("__")


class Story:
    def __init__(self) -> None:
        self.lines: list[StoryLine] = []
        self.outages: list[Outage] = []
        self._leaders: dict[TopicPartition, tuple[int, int]] = {}  # epoch, broker
        self._before: dict[TopicPartition, tuple[int, int]] = {}  # the same, of the epoch before
        self._controller = -1
        self._left: dict[tuple[TopicPartition, int], list[int]] = {}  # when a replica left the ISR
        self._isrs: dict[TopicPartition, int] = {}  # the newest version told, whoever told it
        self._producers: dict[str, tuple[int, int]] = {}  # id and epoch, by transactional id

    def add(self, events: Iterable[ClusterEvent]) -> None:
        for event in events:
            self._serve(event)
            teller = TELLERS.get(event.kind)
            if event.kind == "broker.died" and self._is_dead(event.data["broker"], event.at):
                continue  # a broker that was just started again may look like one that died
            if teller and not internal(event.data.get("topic", "")):
                about = {} if event.broker is None else {"broker": event.broker}
                told = teller(self, about | event.data)
                if told:
                    self._tell(event, *told)
            if event.kind == "leader.elected":
                data = event.data
                self._leads(partition_of(data), data["leader_epoch"], data["leader"])

    def leader(self, partition: TopicPartition) -> int:
        return self._leaders.get(partition, (0, -1))[1]

    def leader_before(self, partition: TopicPartition, epoch: int) -> int:
        """Who led in an earlier epoch. The new leader may report earlier than the controller."""
        known = [self._leaders.get(partition), self._before.get(partition)]
        return next((leader for each in known if each for at, leader in [each] if at < epoch), -1)

    def producer_before(self, id: str, producer: int, epoch: int) -> tuple[int, int]:
        """The id and the epoch that a transactional id had until now."""
        before = self._producers.get(id, (producer, epoch))
        self._producers[id] = producer, epoch
        return before

    def is_news(self, partition: TopicPartition, version: int) -> bool:
        """Whether this version of an ISR is newer than all that were told. Without ZooKeeper each
        replica tells of it."""
        known = self._isrs.get(partition, -1)
        self._isrs[partition] = max(known, version)
        return version > known

    def until(self, at: int) -> list[StoryLine]:
        return [line for line in self.lines if line.at <= at]

    def last_word(self, broker: int, at: int) -> StoryLine | None:
        """The last act on a broker."""
        own = [each for each in self.until(at) if each.kind in FATES and str(broker) in each.parts]
        return own[-1] if own else None

    def _is_dead(self, broker: int, at: int) -> bool:
        word = self.last_word(broker, at)
        return word is not None and word.kind in DEATHS

    def left_isr(self, partition: TopicPartition, broker: int, since: int, at: int) -> int | None:
        """When a replica last left the ISR, between two times."""
        times = [each for each in self._left.get((partition, broker), ()) if since <= each <= at]
        return max(times, default=None)

    # -- lines ---------------------------------------------------------------------------

    def _tell(self, event: ClusterEvent, sort: Sort, words: str, short: str, part: str) -> None:
        """`words` has a {} for joined events, if such events are joined."""
        last = next((line for line in reversed(self.lines[-4:]) if line.kind == event.kind), None)
        if last and "{}" in words and abs(event.at - last.at) <= TOGETHER:
            last.parts.append(part)
            last.words = words.format(listed(last.parts))
            last.short = f"{short} ×{len(last.parts)}"
            if event.at < last.at:
                self.lines.remove(last)
                last.at = event.at
                self._put(last)
        else:
            self._put(StoryLine(event.at, sort, words.format(part), short, event.kind, [part]))

    def _put(self, line: StoryLine) -> None:
        insort(self.lines, line, key=lambda line: line.at)

    # -- service -------------------------------------------------------------------------

    def _serve(self, event: ClusterEvent) -> None:
        data, at = event.data, event.at
        match event.kind:
            case "broker.killed" | "broker.died" | "broker.paused":
                led = [it for it, (_, leader) in self._leaders.items() if leader == data["broker"]]
                if led:
                    self._fall(at, data["broker"], event.kind.partition(".")[2], led)
            case "broker.resumed":
                for outage in self._open(data["broker"]):
                    still = {it for it in outage.missing if self.leader(it) == outage.broker}
                    self._back(outage, still, at)
            case "replica.role" if data["role"] == "leader" and data["leader"] == event.broker:
                partition = partition_of(data)
                if self._leads(partition, data["leader_epoch"], data["leader"]):
                    for outage in self._open():
                        if outage.broker != data["leader"] or outage.cause != "paused":
                            self._back(outage, {partition}, at)
            case "topic.created":
                self._isrs = {it: n for it, n in self._isrs.items() if it.topic != data["topic"]}
            case "isr.changed":
                for gone in set(data["was"]) - set(data["isr"]):
                    self._left.setdefault((partition_of(data), gone), []).append(at)
            case "broker.down" | "broker.fenced":
                self._expire(data["broker"], at)
            case "controller.elected":
                self._expire(self._controller, at)
                self._controller = data["broker"]
            case "log.truncated" if data["was"] > data["end_offset"]:
                self._cut_back(event)

    def _fall(self, at: int, broker: int, cause: str, led: list[TopicPartition]) -> None:
        known = self._open(broker)
        if not known:  # a paused broker that is killed was absent already
            self.outages.append(Outage(at, broker, cause, tuple(sorted(led)), set(led)))
        for outage in known:
            outage.cause = cause

    def _leads(self, partition: TopicPartition, epoch: int, leader: int) -> bool:
        if epoch < self._leaders.get(partition, (0, -1))[0]:
            return False  # an event from before the recording
        if epoch > self._leaders.get(partition, (epoch, -1))[0]:
            self._before[partition] = self._leaders[partition]
        self._leaders[partition] = (epoch, leader)
        return True

    def _open(self, broker: int | None = None) -> list[Outage]:
        return [
            each for each in self.outages if each.ended is None and broker in (None, each.broker)
        ]

    def _back(self, outage: Outage, partitions: set[TopicPartition], at: int) -> None:
        outage.missing -= partitions
        if not outage.missing:
            outage.ended = at

    def _expire(self, broker: int, at: int) -> None:
        for outage in self._open(broker):
            outage.expired = outage.expired or at

    def _cut_back(self, event: ClusterEvent) -> None:
        """The old leader returns, and truncates records that no other replica has."""
        partition, data = partition_of(event.data), event.data
        for outage in reversed(self.outages):
            if outage.broker == event.broker and partition in outage.partitions:
                outage.cut.append((partition, data["end_offset"], data["was"]))
                break


def partition_of(data: Facts) -> TopicPartition:
    return TopicPartition(data["topic"], data["partition"])


def listed(parts: list[str]) -> str:
    if len(parts) <= NAMED:
        return ", ".join(parts)
    return f"{', '.join(parts[:NAMED])} and {len(parts) - NAMED} more"


# -- the words, by kind: (sort, words, short words, what it is about) ---------------------------

Told: TypeAlias = tuple[Sort, str, str, str]
Teller: TypeAlias = Callable[[Story, Facts], Told | None]


def _process(sort: Sort, words: str, short: str, name: Callable[[Facts], str]) -> Teller:
    """Words about one process, with its facts by name, and {0} for its own name."""

    def tell(story: Story, data: Facts) -> Told:
        own = name(data)
        known = {"code": "", "reason": "", "pid": "", "epoch": "", **data}
        told = words.format(own, **known)
        told = told.removesuffix(", pid 0")  # a simulated broker has none
        return sort, told.replace("{", "{{").replace("}", "}}"), short.format(own, **data), own

    return tell


def _controller_name(data: Facts) -> str:
    node = data["controller"] if "controller" in data else data["broker"]
    return controller(node - FIRST_CONTROLLER + 1)


PROCESSES: dict[str, Callable[[Facts], str]] = {
    "broker": lambda data: str(data["broker"]),
    "server": lambda data: f"zookeeper-{data['server']}",  # no broker's number: see `last_word`
    "controller": _controller_name,
}
SORTS = {"fault": FAULT, "cure": CURE, "crown": CROWN, "expiry": EXPIRY, "news": NEWS}


def _crown(story: Story, data: Facts) -> Told:
    number, epoch = data["broker"], data["epoch"]
    if number >= FIRST_CONTROLLER:
        name = controller(number - FIRST_CONTROLLER + 1)
        return CROWN, f"{name} leads the controllers, epoch {epoch}", "crown", name
    return CROWN, f"broker {number} is controller, epoch {epoch}", "crown", str(number)


def _leaderless(story: Story, data: Facts) -> Told:
    return FAULT, "ZooKeeper has no leader: nothing is elected", "no ZK leader", ""


def _link(sort: Sort, words: str) -> Teller:
    def tell(story: Story, data: Facts) -> Told:
        ends = f"{data['one']} – {data['other']}"
        ends = ends.replace("zookeeper", "ZooKeeper")
        short = f"{'slow' if 'ms' in data else 'cut'} {_short(data)}"
        return sort, words.format(ends, data.get("ms")), short, ends

    return tell


def _healed(story: Story, data: Facts) -> Told:
    if data.get("one") is None:
        return CURE, "every link is whole again", "healed", ""
    ends = f"{data['one']} – {data['other']}".replace("zookeeper", "ZooKeeper")
    return CURE, f"link {ends} is whole again", f"healed {_short(data)}", ends


def _failing(story: Story, data: Facts) -> Told:
    number, api = str(data["broker"]), _api(data)
    if not data["times"]:
        return CURE, f"broker {number} serves {api} again", f"serves {number}", number
    count = f"the next {data['times']} requests" if data["times"] > 1 else "the next request"
    words = f"broker {number} is to answer {count} of {api} with {data['error']}"
    return FAULT, words, f"error {number}", number


def _answer(words: str, short: str) -> Teller:
    """What happened to requests of clients."""

    def tell(story: Story, data: Facts) -> Told:
        part = f"{_api(data)} at broker {data['broker']}"
        return FAULT, words, short, f"{part}: {data['error']}" if "error" in data else part

    return tell


def _slowed(story: Story, data: Facts) -> Told:
    number, ms = str(data["broker"]), data["ms"]
    if not ms:
        return CURE, f"broker {number} coordinates without delay", f"quick {number}", number
    return FAULT, f"broker {number} coordinates {ms} ms late", f"slow {number}", number


def _api(data: Facts) -> str:
    return data["api"].title().replace("_", "") if data["api"] else "any request"


def _short(data: Facts) -> str:
    return f"{data['one']}–{data['other']}".replace("zookeeper", "ZK")


def _topic(sort: Sort, verb: str) -> Teller:
    def tell(story: Story, data: Facts) -> Told:
        return sort, f"topic {{}} {verb}", f"topic {verb}", data["topic"]

    return tell


def _written(words: str, short: str, key: str) -> Teller:
    """Nonsense that was written to ZooKeeper, and its effect."""

    def tell(story: Story, data: Facts) -> Told:
        return FAULT, words, short, data[key]

    return tell


def _elected(story: Story, data: Facts) -> Told | None:
    if data["reason"] == "new":
        return None
    partition = partition_of(data)
    was = story.leader_before(partition, data["leader_epoch"])
    leader = data["leader"] if data["leader"] >= 0 else "nobody"
    change = f"{partition} {was if was >= 0 else 'nobody'} → {leader}, epoch {data['leader_epoch']}"
    words = "new leader: {}" if data["clean"] else "UNCLEAN election, records may be lost: {}"
    return (ELECTION if data["clean"] else LOSS), words, "election", change


def _isr(story: Story, data: Facts) -> Told | None:
    if "version" in data and not story.is_news(partition_of(data), data["version"]):
        return None
    was, now = (" ".join(map(str, sorted(data[name]))) for name in ("was", "isr"))
    words = "in sync: {}"
    return NEWS, words, "ISR", f"{partition_of(data)} [{was}] → [{now}]"


def _truncated(story: Story, data: Facts) -> Told | None:
    if data["was"] <= data["end_offset"]:
        return None
    change = f"{partition_of(data)} {data['was']} → {data['end_offset']}"
    return LOSS, "log cut back to the leader's: {}", "truncated", change


def _cut(story: Story, data: Facts) -> Told:
    words = "torn tail cut off, kept beside: {}" if data["kept"] else "torn tail cut off: {}"
    return LOSS, words, "cut", f"{partition_of(data)} from {data['offset']} on"


def _offline(story: Story, data: Facts) -> Told:
    words = "offline, its files stay as they are: {}"
    return FAULT, words, "offline", f"{partition_of(data)} ({data['reason']})"


def _aborted(story: Story, data: Facts) -> Told | None:
    """By the coordinator, in a higher epoch: it took too long, or its producer has a successor."""
    now = data["producer"], data["epoch"]
    before = story.producer_before(data["id"], *now)
    if data["state"] != TxnState.PREPARE_ABORT.value or before == now:
        return None
    words = "an open transaction is aborted, and its producer fenced: {}"
    return EXPIRY, words, "abort", f"{data['id']}, epoch {before[1]} → {now[1]}"


def _moves(story: Story, data: Facts) -> Told:
    ways = [
        f"{'from' if way == 'removing' else 'to'} {listed([*map(str, data[way])])}"
        for way in ("removing", "adding")
        if data[way]
    ]
    return CURE, "partition moves: {}", "move", f"{partition_of(data)} {' '.join(ways)}"


def _moved(story: Story, data: Facts) -> Told:
    words = "the move is done: {}"
    return (
        CURE,
        words,
        "moved",
        f"{partition_of(data)} is on {listed([*map(str, data['replicas'])])}",
    )


def _step(story: Story, data: Facts) -> Told:
    return STEP, data["words"], data["short"], ""


TELLERS: dict[str, Teller] = {
    kind: _process(SORTS[sort], words, short, PROCESSES[process])
    for kind, process, sort, words, short in rows_of(__file__, "story.tsv")
} | {
    "controller.elected": _crown,
    "leader.elected": _elected,
    "isr.changed": _isr,
    "log.truncated": _truncated,
    "log.cut": _cut,
    "partition.offline": _offline,
    "link.cut": _link(FAULT, "link {0} cut"),
    "link.slowed": _link(FAULT, "link {0} slowed by {1} ms"),
    "link.healed": _healed,
    "requests.failing": _failing,
    "request.failed": _answer("answered with an error: {}", "error"),
    "answer.dropping": _answer("the next answer is to be lost: {}", "to be lost"),
    "answer.dropped": _answer("done, and the answer was lost: {}", "lost"),
    "request.repeating": _answer("the next request is to come twice: {}", "to come twice"),
    "request.repeated": _answer("came a second time, late, and was answered: {}", "again"),
    "coordinator.slowed": _slowed,
    "zookeeper.leaderless": _leaderless,
    "znode.written": _written("somebody wrote nonsense to {} in ZooKeeper", "nonsense", "path"),
    "znode.unreadable": _written("nobody can read {} in ZooKeeper", "unreadable", "path"),
    "config.ignored": _written("a broker ignores {} in a configuration", "ignored", "key"),
    "topic.created": _topic(CURE, "created"),
    "topic.deleted": _topic(NEWS, "deleted"),
    "transaction.changed": _aborted,
    "reassignment.began": _moves,
    "reassignment.done": _moved,
    "migration.step": _step,
}
DEATHS = ("broker.killed", "broker.died", "broker.stopped")
FATES = {f"broker.{fate}" for fate in ("started", "killed", "died", "paused", "resumed", "stopped")}
