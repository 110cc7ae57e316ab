"""The questions of 03_rebalance. Read it after you have made your guesses.

Each is asked before a cell is run; the outcome is taken from what the run did.
"""

from rebalance.clocks import Hung, Restarts
from rebalance.coordinator import Fallen
from rebalance.cost import SLOW, Gaps
from rebalance.offsets import Commit
from rebalance.rounds import Round
from rebalance.sharing import Comings
from rebalance.strategies import Journey
from rebalance.triggers import News
from widgets import Predict

FOUR_READ, ALL_READ, TAKE_TURNS = "Four read, two wait", "All six read", "They take turns"
NINE, TEN, ALL = "9", "10", "All ten numbers"
ANEW, GOES_ON, STOPS = "All join anew", "It goes on as it was", "It stops until the broker is back"
COORDINATOR, CONTROLLER, MEMBER = "The coordinator", "The controller", "One of the consumers"
RANGE, ROUNDROBIN, STICKY = "range", "roundrobin", "sticky"
WATCHES, ASKS, NOBODY = "The coordinator", "A consumer", "Nobody, until one restarts"
NOTHING, KEEPS = "Nothing: it waits for b", "What it keeps"
BROKER, CLIENT, UNSEEN = "The coordinator", "Its own client", "Nobody"
MANY, SOME, NONE = "Six or more", "Three", "None"


def idle() -> Predict:
    return Predict(
        "Six consumers of one group, a topic of four partitions. Who reads?",
        {
            FOUR_READ: "A partition has one reader in a group. Who comes too late is a reserve.",
            ALL_READ: "Then two would have to share a partition, and nobody could keep its order.",
            TAKE_TURNS: "Shares change only in a rebalance, and nothing begins one here.",
        },
        hint="How many readers may a partition have in one group?",
    )


def idle_outcome(seen: Comings) -> str:
    return FOUR_READ if seen.idle and not any(seen.idle.values()) else ALL_READ


def committed() -> Predict:
    return Predict(
        "A consumer has read the records 0 to 9, and commits. Which number is written?",
        {
            NINE: "Then whoever goes on there would read 9 once more.",
            TEN: "It is the place to go on from: the next record to be read.",
            ALL: "A record for each record read would be a second log as long as the first.",
        },
        hint="What does a successor want to know?",
    )


def committed_outcome(seen: Commit) -> str:
    return TEN if seen.entries[-1].value.offset == 10 else NINE


def fallen() -> Predict:
    return Predict(
        "The coordinator of a group at work is killed. What becomes of the group?",
        {
            ANEW: "The successor has read all there is to know: members, shares, generation.",
            GOES_ON: "Its partition has replicas. A successor reads them, and knows the group.",
            STOPS: "So it would be if the group were known to that broker alone.",
        },
        hint="Where does the coordinator keep what it knows?",
    )


def fallen_outcome(seen: Fallen) -> str:
    return GOES_ON if seen.before[2] == seen.after[2] and not seen.joined_again else ANEW


def planner() -> Predict:
    return Predict(
        "Who works out which consumer gets which partitions?",
        {
            COORDINATOR: "It collects members and hands out shares; it does not look inside.",
            CONTROLLER: "It decides who leads partitions. Of groups it knows nothing.",
            MEMBER: "The group's leader. A new strategy is code in clients, not in brokers.",
        },
        hint="Who must have the code of a strategy of your own?",
    )


def planner_outcome(seen: Round) -> str:
    return MEMBER if any(it.request.assignments for it in seen.syncs) else COORDINATOR


def restless() -> Predict:
    return Predict(
        "Seven comings and goings, ten partitions. Which strategy moves the most?",
        {
            RANGE: "Runs shift at their borders, while much of each stays.",
            ROUNDROBIN: "With another number of players nearly every card goes to somebody else.",
            STICKY: "It remembers who had what, and moves only what it must.",
        },
        hint="Deal ten cards to three players, then to two.",
    )


def restless_outcome(seen: Journey) -> str:
    totals = {name: sum(counts) for name, counts in seen.moves.items()}
    return max((RANGE, ROUNDROBIN, STICKY), key=totals.__getitem__)


def noticing() -> Predict:
    return Predict(
        "A topic gets three more partitions. Who notices, and begins a rebalance?",
        {
            WATCHES: "It knows members and offsets. What their topics look like it does not ask.",
            ASKS: "Clients ask for metadata every now and then; the group's leader joins again.",
            NOBODY: "So it is with a consumer that asks too rarely: for a while.",
        },
        hint="Think of metadata.max.age.ms.",
    )


def noticing_outcome(seen: News) -> str:
    return ASKS if seen.noticed and seen.unnoticed else WATCHES


def silence() -> Predict:
    return Predict(
        "c joins, and b takes two seconds to give something up. What does a read meanwhile, "
        "with cooperative-sticky?",
        {
            NOTHING: "So it is with an eager strategy, where all must have given up everything.",
            KEEPS: "Nobody takes it from a, so there is no reason to stop.",
        },
        hint="What must be given up before c can have its share?",
    )


def silence_outcome(seen: Gaps) -> str:
    return KEEPS if seen.gap("cooperative") < SLOW * 0.9 else NOTHING


def hanging() -> Predict:
    return Predict(
        "An application polls no more; its heartbeats go on. Who takes its partitions away?",
        {
            BROKER: "It hears heartbeats, which come from a thread of their own. All seems well.",
            CLIENT: "It counts the time between polls, and leaves the group for its application.",
            UNSEEN: "So it was before there was max.poll.interval.ms.",
        },
        hint="Who can know when an application polled last?",
    )


def hanging_outcome(seen: Hung) -> str:
    return CLIENT if seen.left else BROKER


def restarts() -> Predict:
    return Predict(
        "Three consumers with a group.instance.id are started again, one after the other. "
        "How many rebalances?",
        {
            MANY: "So it is without that id: each goes, and each comes.",
            SOME: "One for each would be fair; but whom would it serve?",
            NONE: "Their places are kept for a session's time, and nobody else hears of it.",
        },
        hint="What is the id there for?",
    )


def restarts_outcome(seen: Restarts) -> str:
    count = seen.rounds["range, group.instance.id"]
    return NONE if not count else SOME if count <= 3 else MANY
