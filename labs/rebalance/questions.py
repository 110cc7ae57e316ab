"""The questions of 03_rebalance. Read it after you have made your guesses.

Each is asked before a cell is run; its outcome is taken from what the run has found.
"""

from collections.abc import Mapping, Sequence

from widgets import Predict

FOUR_READ, ALL_READ, TAKE_TURNS = "Four read, two wait", "All six read", "They take turns"
NINE, TEN, ALL = "9", "10", "All ten numbers"
ONE_LOG, EVERY_LOG, ZOOKEEPER = "In one of the 50", "Spread over all 50", "In ZooKeeper"
ANEW, GOES_ON, STOPS = "All join again", "It goes on as it was", "It stops until the broker is back"
COORDINATOR, CONTROLLER, MEMBER = "The coordinator", "The controller", "One of the consumers"
RANGE, ROUNDROBIN, STICKY = "range", "roundrobin", "sticky"
WATCHES, ASKS, NOBODY = "The coordinator", "A consumer", "Nobody, until one restarts"
NOTHING, KEEPS = "Nothing: it waits for b", "What it keeps"
BROKER, CLIENT, UNSEEN = "The coordinator", "Its own client", "Nobody"
COMMITS, REFUSED, STOPS_WORK = (
    "Works on them and commits",
    "Works on them, and may not commit",
    "Drops them: they are not its own now",
)
MANY, SOME, NONE = "Six or more", "Three", "None"
RARELY = 600_000  # ms between two questions for metadata, if nobody has changed it


def idle() -> Predict:
    return Predict(
        "Six consumers of one group, a topic of four partitions. Who reads?",
        {
            FOUR_READ: "A partition has one reader in a group. The two that are left over wait.",
            ALL_READ: "Then two would have to share a partition, and nobody could keep its order.",
            TAKE_TURNS: "Shares change only in a rebalance, and nothing begins one here.",
        },
        hint="How many readers may a partition have in one group?",
    )


def idle_outcome(read: Mapping[str, int]) -> str:
    """Of those that had no partition: how many records each has read."""
    return FOUR_READ if len(read) == 2 and not any(read.values()) else ALL_READ


def committed() -> Predict:
    return Predict(
        "A consumer has read the records 0 to 9, and commits. Which number is written?",
        {
            NINE: "Then whoever goes on there would read 9 once more.",
            TEN: "It is the place to go on from: the next record to be read.",
            ALL: "A record for each record read would be a second log as long as the first.",
        },
        hint="What does a successor need to know?",
    )


def committed_outcome(offset: int) -> str:
    return TEN if offset == 10 else NINE


def stored() -> Predict:
    return Predict(
        "A group commits offsets for many partitions. Where are all these commits?",
        {
            ONE_LOG: "The group's name decides: one partition, and one broker that leads it.",
            EVERY_LOG: "Then a group would need fifty coordinators.",
            ZOOKEEPER: "So it was before 0.9, with the consumer that 2.0 removed.",
        },
        hint="One broker has to answer for the whole group.",
    )


def stored_outcome(found: Sequence[int]) -> str:
    """The partitions in which commits of one group were found."""
    return ONE_LOG if len(found) == 1 else EVERY_LOG if found else ZOOKEEPER


def fallen() -> Predict:
    return Predict(
        "The coordinator of a group at work is killed. What happens to the group?",
        {
            ANEW: "The successor has read all there is to know: members, shares, generation.",
            GOES_ON: "Its partition has replicas. A successor reads them, and knows the group.",
            STOPS: "So it would be if only that broker knew the group.",
        },
        hint="Where does the coordinator keep what it knows?",
    )


def fallen_outcome(generations: Sequence[int], rebalances: int) -> str:
    return GOES_ON if len(set(generations)) == 1 and not rebalances else ANEW


def planner() -> Predict:
    return Predict(
        "Who works out which consumer gets which partitions?",
        {
            COORDINATOR: "It collects members and hands out shares; it does not look inside.",
            CONTROLLER: "It decides who leads partitions. It knows nothing of groups.",
            MEMBER: "The group's leader. A new strategy is code in clients, not in brokers.",
        },
        hint="Who must have the code of a strategy of your own?",
    )


def planner_outcome(planned: Sequence[str]) -> str:
    """The members whose SyncGroup brought shares."""
    return MEMBER if planned else COORDINATOR


def restless() -> Predict:
    return Predict(
        "Members come and go seven times, ten partitions. Which strategy moves the most?",
        {
            RANGE: "Runs shift at their borders, while much of each stays.",
            ROUNDROBIN: "With another number of members nearly every partition has another owner.",
            STICKY: "It knows who had what, and moves only what it must.",
        },
        hint="Deal ten cards to three players, then to two.",
    )


def restless_outcome(moves: Mapping[str, Sequence[int]]) -> str:
    return max((RANGE, ROUNDROBIN, STICKY), key=lambda name: sum(moves[name]))


def noticing() -> Predict:
    return Predict(
        "A topic gets three more partitions. Who notices, and begins a rebalance?",
        {
            WATCHES: "It knows members and offsets. It does not ask what their topics look like.",
            ASKS: "Clients ask for metadata every now and then; the group's leader joins again.",
            NOBODY: "So it is with a consumer that asks too rarely: for a while.",
        },
        hint="Think of metadata.max.age.ms.",
    )


def noticing_outcome(noticed: bool, unasked: bool, rarely: int) -> str:
    """Whether the group noticed whose consumers ask often, and the other one, whose consumer asks
    every so many ms."""
    if unasked:
        return WATCHES if rarely == RARELY else ASKS
    return ASKS if noticed else NOBODY


def silence() -> Predict:
    return Predict(
        "c joins, and b does not give anything up yet. What does a read meanwhile, "
        "with cooperative-sticky?",
        {
            NOTHING: "So it is with an eager strategy, where all must have given up everything.",
            KEEPS: "Nobody takes it from a, so there is no reason to stop.",
        },
        hint="What must be given up before c can have its share?",
    )


def silence_outcome(reads_on: bool) -> str:
    return KEEPS if reads_on else NOTHING


def hanging() -> Predict:
    return Predict(
        "An application does not poll any more; its heartbeats go on. Who takes its partitions "
        "away?",
        {
            BROKER: "It gets heartbeats, which a thread of their own sends. It sees nothing wrong.",
            CLIENT: "It measures the time between polls, and leaves the group.",
            UNSEEN: "So it was before there was max.poll.interval.ms.",
        },
        hint="Who can know when an application polled last?",
    )


def hanging_outcome(what: str) -> str:
    """What the coordinator noted."""
    return CLIENT if what == "left" else BROKER


def zombie() -> Predict:
    return Predict(
        "A consumer has ten records in hand and is frozen. Its session ends, another consumer "
        "gets its partition. It wakes up. What does it do with the records that are left?",
        {
            COMMITS: "Then its commit could set the group back behind the new owner.",
            REFUSED: "Nothing tells the program in time. Only the coordinator can say no.",
            STOPS_WORK: "How would it know, before it has asked anybody?",
        },
        hint="What does the program do between two calls of consume?",
    )


def zombie_outcome(worked: bool, committed: bool) -> str:
    """After it woke."""
    return COMMITS if committed else REFUSED if worked else STOPS_WORK


def restarts() -> Predict:
    return Predict(
        "Three consumers with a group.instance.id are started again, one after the other. "
        "How many rebalances?",
        {
            MANY: "So it is without that id: each goes, and each comes.",
            SOME: "A rebalance moves partitions; here each comes back to its own.",
            NONE: "Their places are kept for a session's time, and nobody else hears of it.",
        },
        hint="What is the id there for?",
    )


def restarts_outcome(rebalances: int) -> str:
    return NONE if not rebalances else SOME if rebalances <= 3 else MANY
