"""The questions of 05_controller. Read it after you have made your guesses.

Each question has a function beside it that says, from what the engine did, which answer came true.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from widgets import Predict

ALL_GONE, LIVING_GONE, NONE_GONE = "All of them", "Those of the living", "None"


def stopped() -> Predict:
    return Predict(
        "All three brokers are stopped, ZooKeeper stays. Which znodes are gone then?",
        {
            ALL_GONE: "A znode does not need its writer: it stays until it is deleted.",
            LIVING_GONE: "A broker's registration and /controller belong to a session, and go with "
            "it. Topics, settings and leaders stay.",
            NONE_GONE: "Some znodes are ephemeral: ZooKeeper deletes them when a session ends.",
        },
        hint="What would a broker that starts tomorrow have to find, and what must it not find?",
    )


def gone(before: Collection[str], after: Collection[str]) -> str:
    left = set(before) & set(after)
    return ALL_GONE if not left else NONE_GONE if left == set(before) else LIVING_GONE


FIRST, NEAREST, THIRD = (
    "Broker 1: it is started first",
    "Broker 2: it is near",
    "Broker 3: its id is the highest",
)
VOTE = "They vote"


def start() -> Predict:
    return Predict(
        "Broker 1 is started first and is farthest from ZooKeeper, broker 2 is nearest. Who "
        "becomes controller?",
        {
            FIRST: "It counts whose request reaches ZooKeeper first, not who starts first.",
            NEAREST: "Its request to create /controller is the first to arrive; the others are "
            "refused.",
            THIRD: "Ids play no part in it. Its request was the first to arrive.",
            VOTE: "Brokers don't vote. One request arrives first, and that is all.",
        },
        hint="What does ZooKeeper do with the second request to create the same znode?",
    )


def started(controller: int | None, nearest: int) -> str | None:
    """Why this broker became controller; None if it was the nearest, by changed distances."""
    if controller == nearest != 2:
        return None
    return {1: FIRST, 2: NEAREST, 3: THIRD}.get(controller or 0, VOTE)


NOTHING, LED, EVERYTHING = (
    "Nothing",
    "Records, where a leader lives",
    "All of it: brokers agree among themselves",
)


def without() -> Predict:
    return Predict(
        "The controller is dead, and nobody has taken over yet. What still works?",
        {
            NOTHING: "Records don't pass through the controller: a leader needs no permission.",
            LED: "Leaders go on. But no topic, partition, leader or broker is dealt with.",
            EVERYTHING: "They don't talk about such things: only a controller does them.",
        },
        hint="To whom does a producer send? Who names a leader?",
    )


def worked(stored: bool, done: Mapping[str, bool]) -> str | None:
    """What was done without a controller; None if there was one all the time, which did it."""
    return None if any(done.values()) else LED if stored else NOTHING


EVERY, REPLICAS, ONE = "Every broker", "The brokers that get a replica", "The controller, alone"


def told() -> Predict:
    return Predict(
        "A topic gets two partitions more: its znode changes. Whom does ZooKeeper tell?",
        {
            EVERY: "They learn of it, but not from ZooKeeper: they don't watch topics.",
            REPLICAS: "They learn it from the controller, with an order to lead or to follow.",
            ONE: "Only the controller watches topics. It tells the others by requests.",
        },
        hint="Somebody is told if they asked to be told. Who asked?",
    )


def heard(brokers: Collection[str], controller: int | None, all_of_them: int) -> str:
    if set(brokers) == {str(controller)}:
        return ONE
    return EVERY if len(brokers) == all_of_them else REPLICAS


ITS_OWN, ITS_ISRS, ALL_NEW = (
    "New leaders where it led, and the ISRs there",
    "New leaders where it led, and all eight ISRs",
    "New leaders and ISRs in all eight",
)


def death() -> Predict:
    return Predict(
        "Broker 2 leads five of eight partitions, and follows in three. It dies. What changes?",
        {
            ITS_OWN: "In the others it was in sync as a follower, and that is over, too.",
            ITS_ISRS: "Somebody else has to lead where it led. And it leaves every ISR.",
            ALL_NEW: "Where the leader lives, nobody takes its place.",
        },
        hint="Is a follower that has died in sync?",
    )


def died(leaders: int, isrs: int) -> str:
    return ALL_NEW if leaders == 8 else ITS_OWN if leaders == isrs else ITS_ISRS


LEADER, CONTROLLER, BOTH = (
    "The leader, both times",
    "The controller, both times",
    "First the leader, then the controller",
)


def isr() -> Predict:
    return Predict(
        "A follower is cut off from its leader; later its broker dies. Who writes the smaller ISR "
        "to ZooKeeper?",
        {
            LEADER: "The controller hears first of a dead broker, as soon as the session is over.",
            CONTROLLER: "Only the leader knows how far its followers are.",
            BOTH: "The leader knows which follower lags; the controller, which broker is dead.",
        },
        hint="Who knows that a follower lags? Who knows that a broker is dead?",
    )


def wrote(lagging: str, dead: str, controller: int | None) -> str:
    by = [each == str(controller) for each in (lagging, dead)]
    return BOTH if by == [False, True] else CONTROLLER if all(by) else LEADER


AT_ONCE, SESSION_OVER, ON_DEMAND = (
    "At once: its connection breaks",
    "When its session is over",
    "When somebody needs one",
)


def successor() -> Predict:
    return Predict(
        "The controller's process is killed. When does another broker become controller?",
        {
            AT_ONCE: "A connection may break for a moment. Only an orderly stop is quick.",
            SESSION_OVER: "ZooKeeper waits for the session's time-out, as the broker may come "
            "back. Then it deletes /controller, and tells all who watch it.",
            ON_DEMAND: "Nobody has to ask: all brokers watch /controller.",
        },
        hint="How can ZooKeeper know that a broker is dead, and not only slow?",
    )


def succeeded(waited: float, session: float) -> str:
    return SESSION_OVER if waited > session / 3 else AT_ONCE


NEITHER, READS, REWRITES = (
    "It asks the brokers what they lead",
    "It reads each partition, and writes none",
    "It reads each partition, and writes each",
)


def takeover() -> Predict:
    return Predict(
        "A new controller takes over a cluster of 200 partitions, all led by brokers that live. "
        "What does that cost at ZooKeeper?",
        {
            NEITHER: "Brokers are told, not asked. The truth is in ZooKeeper.",
            READS: "It knows nothing before it has read all of it. But nothing has to be changed.",
            REWRITES: "Where a leader lives, nobody else is elected.",
        },
        hint="What does a broker know that was never a controller? And what has changed?",
    )


def took_over(reads: int, writes: int, partitions: int) -> str:
    return NEITHER if reads < partitions else READS if writes < partitions else REWRITES


GOES_ON, REFUSED, BACK = (
    "Its orders are obeyed until it is told",
    "Its orders are refused",
    "It becomes controller again",
)


def zombie() -> Predict:
    return Predict(
        "The controller is paused for longer than its session, and another takes over. It wakes "
        "up, and still believes to be controller. What becomes of its orders?",
        {
            GOES_ON: "Then there would be two controllers at a time.",
            REFUSED: "Each order carries the controller epoch. A broker that has heard of a higher "
            "one refuses it.",
            BACK: "/controller belongs to another session now. The old controller resigns.",
        },
        hint="How can a broker tell an order of today from one of yesterday?",
    )


def answered(code: Any) -> str:
    return GOES_ON if code == 0 else REFUSED


STORED, DENIED, LOST = (
    "It is stored, and stays",
    "The old leader refuses it",
    "It is acknowledged, and lost",
)


def superseded() -> Predict:
    return Predict(
        "A leader is cut off from everybody; another is elected. A producer that has not heard of "
        "it sends a record with acks=1 to the old one. What becomes of the record?",
        {
            STORED: "Two leaders gave the same offset to different records. One has to go.",
            DENIED: "It can't know that it is not the leader any more: who would tell it?",
            LOST: "The old leader still takes itself for the leader, and acknowledges. When it is "
            "back, it cuts off what its successor does not have.",
        },
        hint="Whom does a leader ask before it acknowledges with acks=1?",
    )


def kept(acknowledged: bool, found: Sequence[str], value: str) -> str:
    return DENIED if not acknowledged else STORED if value in found else LOST


FEW, TENS, HUNDREDS = "1 or 2", "Some ten", "About 200"


def notices() -> Predict:
    return Predict(
        "A broker dies that led 100 partitions, each with two more replicas. How many notices does "
        "ZooKeeper send?",
        {
            FEW: "Only the controller watches the brokers, and it tells the others itself.",
            TENS: "Not even that: partitions are not watched at all.",
            HUNDREDS: "If each replica watched its leader it would be so, and all at once.",
        },
        hint="Who watches what?",
    )


def noticed(count: int) -> str:
    return FEW if count <= 4 else HUNDREDS if count >= 100 else TENS
