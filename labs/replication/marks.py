"""LEO and HW, step by step, in simulated time: where a record is, and who may see it when.

producer ──> leader: LEO + 1
             follower: Fetch from LEO ──> the record ──> its LEO + 1
             follower: Fetch from LEO + 1     that is how the leader hears of it: HW + 1
             the answer to that Fetch         ... and how the follower hears of the HW
"""

from typing import Any, NamedTuple

from table import Table

from engine.sim.client import Delivery
from replication.world import ORDERS, Message, Sim, talk

FAR = 250  # ms for each message between the leader and its followers
LIMIT = 30_000  # replica.lag.time.max.ms


class One(NamedTuple):
    """One record, from its sending until every replica knows that it is committed."""

    messages: list[Message]  # every one of them
    steps: Table  # LEO and HW of the replicas, whenever one of them changes
    answered: int  # ms
    leader_has: int
    followers_have: int  # the last of them
    committed: int  # the leader's HW has moved

    def __repr__(self) -> str:
        return repr(self.steps)

    @property
    def talk(self) -> Table:
        """What is about the record, and not about the office."""
        about = ("Produce", "Fetch orders", "Fetched orders", "offset")
        return talk(it for it in self.messages if it.text.startswith(about))

    def said(self, *sources: str) -> list[Message]:
        return [it for it in self.messages if it.source in sources]


def one_record(acks: int = -1, far: int = FAR) -> One:
    """Both followers are `far` ms away from the leader, broker 1."""
    sim = Sim()
    sim.topic("orders", [1, 2, 3])
    sim.store("a")
    sim.run(1000)
    for follower in (2, 3):
        sim.world.slow(1, follower, far)
    sim.run(4 * far)
    began = sim.now
    sent = sim.send("b", acks)
    steps = sim.watch(8 * far)
    messages = [it._replace(at=it.at - began) for it in sim.messages(began, routine=True)]
    answered = (sent.done_at or 0) - sent.sent_at
    return One(messages, steps, answered, *_when(steps))


def _when(steps: Table) -> tuple[int, int, int]:
    def first(*columns: str) -> int:
        """When all of them had grown to 2."""
        places = [steps.head.index(column) for column in columns]
        return int(next(row[0] for row in steps if all(row[it] >= 2 for it in places)))

    return first("LEO 1"), first("LEO 2", "LEO 3"), first("HW 1")


def by_acks() -> Table:
    """When does the producer hear, and when does the HW move? In ms."""
    seen = {acks: one_record(level) for acks, level in ((0, 0), (1, 1), ("all", -1))}
    rows = [
        (acks, it.leader_has, it.answered, it.followers_have, it.committed)
        for acks, it in seen.items()
    ]
    return Table("acks, leader has it, producer hears, followers have it, HW moves", rows)


class Held(NamedTuple):
    """What the leader knows, at each moment at which that changes."""

    table: Table
    always_least: bool  # HW = the smallest LEO of the ISR, as the leader knows them
    never_ahead: bool  # no follower's HW is above the leader's, or above its own LEO
    one_round_later: bool  # a follower's HW has moved after the leader's, each time
    lagged_inside: bool  # a member of the ISR had less than its leader
    below_on_all: bool  # what is below the HW is in the log of every member

    def __repr__(self) -> str:
        return repr(self.table)


def held_back(records: int = 3) -> Held:
    """Follower 2 is near, follower 3 is FAR away; the records come 400 ms apart."""
    sim = Sim()
    sim.topic("orders", [1, 2, 3])
    sim.run(1000)
    sim.world.slow(1, 3, FAR)
    sim.run(4 * FAR)
    rows: list[tuple[Any, ...]] = []
    began = sim.now
    for number in range(records):
        sim.send("abc"[number], acks=1)
        _follow(sim, began, 400, rows)
    _follow(sim, began, 16 * FAR, rows)
    marks = [(row[1:7], row[7:]) for row in rows]
    shown = Table("ms, LEO 1, HW 1, LEO 2, HW 2, LEO 3, HW 3, known of 2, known of 3", rows)
    return Held(
        shown,
        all(hw == min(leo, *known) for (leo, hw, *_), known in marks),
        all(m[3] <= min(m[1], m[2]) and m[5] <= min(m[1], m[4]) for m, _ in marks),
        all(
            _reached(shown, f"HW {it}", n) > _reached(shown, "HW 1", n)
            for it in (2, 3)
            for n in range(1, records + 1)
        ),
        any(m[4] < m[0] for m, _ in marks),
        all(m[1] <= min(m[0], m[2], m[4]) for m, _ in marks),
    )


def _follow(sim: Sim, began: int, milliseconds: int, rows: list[tuple[Any, ...]]) -> None:
    role = sim.world[1].running.replicas.partitions[ORDERS]
    until = sim.now + milliseconds
    while sim.now < until:
        row = (*sim.marks(), *(role.followers[it].end for it in (2, 3)))
        if not rows or rows[-1][1:] != row:
            rows.append((sim.now - began, *row))
        sim.run(1)


def _reached(table: Table, column: str, mark: int) -> int:
    times = zip(table.column("ms"), table.column(column), strict=True)
    return next((at for at, it in times if it >= mark), 1 << 30)


class Unseen(NamedTuple):
    """A record that only the leader has."""

    before: list[str]  # what a consumer gets meanwhile
    on_the_way: list[str]  # what the leader gives to a follower that asks
    after: list[str]  # what a consumer gets once the followers have it

    def __repr__(self) -> str:
        rows = [
            ("a consumer, meanwhile", self.before),
            ("each follower, on its way", self.on_the_way[:1]),
            ("a consumer, when the way is free", self.after),
        ]
        return repr(Table("who, gets", rows))


def unseen() -> Unseen:
    """What is sent to the followers is held up, for less than the lag limit."""
    sim = Sim()
    sim.topic("orders", [1, 2, 3])
    sim.store("a")
    sim.run(1100)  # both have asked for what comes next, and wait
    for follower in (2, 3):
        sim.world.cut(1, follower, both=False)
    began = sim.now
    sim.store("b", acks=1)
    sim.run(3000)
    before = sim.seen(1)
    given = [it for it in sim.messages(began) if it.source == "1" and it.says("Fetched orders-0 ")]
    sim.world.heal()
    sim.run(2000)
    records = [it.text for it in given if it.text.endswith("bytes")]
    return Unseen(before, records, sim.seen(1))


class Stale(NamedTuple):
    leader: list[str]
    follower: list[str]  # a moment after the leader has committed
    later: list[str]  # the follower again
    referred: int  # the replica to which the leader sends a reader of rack b

    def __repr__(self) -> str:
        rows = [
            ("the leader", self.leader),
            ("the follower, just then", self.follower),
            ("the follower, later", self.later),
            ("the leader, to a reader in the follower's rack", f"ask broker {self.referred}"),
        ]
        return repr(Table("who is asked, answers", rows))


def from_a_follower() -> Stale:
    """Reading at a follower 250 ms away, which Fetch 11 allows and a rack makes the rule."""
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    sim = Sim(brokers=[], replica_selector_class=selector)
    for broker, rack in ((1, "a"), (2, "a"), (3, "b")):
        sim.world.add(broker, broker_rack=rack)
    sim.run(200)
    sim.topic("orders", [1, 2, 3])
    sim.store("a")
    sim.run(1000)
    sim.world.slow(1, 3, FAR)
    sim.run(4 * FAR)
    sent: Delivery = sim.send("b")
    sim.until(lambda: sent.done)
    leader, follower = sim.seen(1), sim.seen(3, anywhere=True)
    sim.run(8 * FAR)
    referral = sim.world.consume(ORDERS, 0, 1, rack="b")
    return Stale(
        leader, follower, sim.seen(3, anywhere=True), referral.preferred if referral else -1
    )
