"""The predictions about commands, listeners, clients and lag. Read them after you have made yours.

Each question has a function beside it that says, from what was found, which answer came true.
"""

from operations.lag import FOLLOWER, TRANSACTION, LagCase
from widgets import Predict

NONE, TWO, SEVEN = "None", "Two", "Seven"


def again() -> Predict:
    return Predict(
        "Mode BATCH, ten records in polls of five. The process dies in the 7th record. How many "
        "records come again?",
        {
            NONE: "So it is if each record is committed as soon as it is acknowledged.",
            TWO: "The first poll was committed; the sixth and the seventh record were not.",
            SEVEN: "So it is if nothing was committed yet, as with TIME and a long time.",
        },
        hint="Where did the last poll end that is processed as a whole?",
    )


def came_again(records: int) -> str:
    return {0: NONE, 2: TWO}.get(records, SEVEN)


AT_100, AT_120, AT_150 = "After 100", "After 120", "After 150"


def of_count() -> Predict:
    return Predict(
        "Mode COUNT with a count of 120, in polls of 50 records. After which record is the first "
        "commit?",
        {
            AT_100: "100 records are fewer than 120: the count is not reached.",
            AT_120: "The count is looked at after a poll, and no poll ends there.",
            AT_150: "The end of the first poll with which 120 records or more are processed.",
        },
        hint="When does the container look at the count?",
    )


def first_commit(offset: int) -> str:
    return AT_100 if offset <= 100 else AT_120 if offset < 150 else AT_150


SIX, FOUR, ERROR = "Six", "Four", "None: the container refuses it"


def six_on_four() -> Predict:
    return Predict(
        "A listener with concurrency=6 subscribes to a topic of four partitions. How many of its "
        "consumers get records?",
        {
            SIX: "A partition belongs to one consumer of a group. There are four.",
            FOUR: "Two members of the group get no partition, and wait until one is free.",
            ERROR: "A subscription does not say how many partitions there will be.",
        },
        hint="How many consumers of one group read one partition?",
    )


def were_busy(consumers: int) -> str:
    return {6: SIX, 0: ERROR}.get(consumers, FOUR)


OF_POISON, OF_TRANSACTION, OF_FOLLOWER = "A poison record", "An open transaction", "A slow follower"


def not_shown() -> Predict:
    return Predict(
        "Five groups fall behind. For one of them `kafka-consumer-groups.sh --describe` shows "
        "hardly any lag, though hundreds of records wait in the leader's log. What is its cause?",
        {
            OF_POISON: "The offset stands still and the log grows: that is the lag it shows.",
            OF_TRANSACTION: "The offset stands still, and the high watermark moves on.",
            OF_FOLLOWER: "The lag is counted up to the high watermark, and that is what is late.",
        },
        hint="Up to where does the command count?",
    )


def hidden(case: LagCase, topic: str) -> str:
    """The group of this topic is the one with hardly any lag."""
    named = {TRANSACTION: OF_TRANSACTION, FOLLOWER: OF_FOLLOWER}
    return named.get(case.truth[topic], OF_POISON)
