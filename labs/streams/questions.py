"""The questions of 04_streams. Read it after you have made your guesses.

Each is asked before a cell is run; the outcome is taken from what the run did.
"""

from typing import TYPE_CHECKING

from streams.database import Replica
from streams.duality import Back
from streams.middle import Decoupled
from streams.remote import FEW, Dependence
from streams.replay import Killed
from streams.stateless import Restarted
from widgets import Predict

if TYPE_CHECKING:
    from streams.counting import Kinds
    from streams.faults import Survived
    from streams.joins import Joined
    from streams.late import Alarmed
    from streams.sql import Same

GREET, COUNT, NEITHER = "The greetings", "The counts", "Neither"
YES, NO = "Yes", "No"
ALL, NONE = "All of it", "Nothing"
GOES, WAITS, FAILS = "It goes on", "It waits", "It fails"
EVERY, KEYS, ONE = "Every change there ever was", "Little more than the table", "One record"
FINDS, PART, EMPTY = "All orders", "The orders since it came", "None"
EACH, GUESTS, BATCHES = "One for each card", "One for each guest", "One for each micro-batch"
BUFFERS, FINE = "Orders whose payment has not come", "Nothing"
SQL, CODE, EQUAL = "The SQL", "The program", "Neither: it is the same"
COUNTED, DROPPED, STOPS = "It is counted", "It is dropped, and that is noted", "The query fails"
MISSING, TWICE, EXACT = "Some are missing", "Some are there twice", "Each is there once"


def restarted() -> Predict:
    return Predict(
        "A processor greets guests and counts their cards. It is killed half-way and started "
        "again. What comes out differently than without the kill?",
        {
            GREET: "A greeting needs the record it greets, and that is still in the topic.",
            COUNT: "What was counted so far was in the memory of the process that was killed.",
            NEITHER: "Then the new process would have to know what the old one had counted.",
        },
        hint="What does each of the two have to remember?",
    )


def restarted_outcome(seen: Restarted) -> str:
    if not seen.same("greet"):
        return GREET
    return NEITHER if seen.same("count") else COUNT


def back() -> Predict:
    return Predict(
        "A stream of cards makes a table of balances. Can the stream be had back from the table?",
        {
            YES: "Its changes, if they were kept, make the table again; but it has only the last.",
            NO: "Quite another stream makes the same table: one sum for each guest.",
        },
        hint="Mei has 16. Was that +20 and -4, or +16?",
    )


def back_outcome(seen: Back) -> str:
    return NO if seen.first == seen.other else YES


def replica() -> Predict:
    return Predict(
        "A change is in the database's own log on the disk, but nobody has published it. Does the "
        "replica get it?",
        {
            YES: "Then somebody would have to carry that file over. It is for the next start.",
            NO: "It gets what is sent to it. The file helps the database alone, after a crash.",
        },
        hint="Who reads that file?",
    )


def replica_outcome(seen: Replica) -> str:
    return YES if seen.later == seen.unmoved else NO


def dependence() -> Predict:
    return Predict(
        "The database stands still for a while. What does a job do whose counts are in it?",
        {
            GOES: "It has to ask before it can count, and nobody answers.",
            WAITS: "With the first record: it can't count on without the count so far.",
            FAILS: "So it would be with a time-out: later, and no better.",
        },
        hint="What does it need before it can write 17?",
    )


def dependence_outcome(seen: Dependence) -> str:
    if seen.still["far"] == FEW:
        return GOES
    return WAITS if seen.resumed["far"] == FEW else FAILS


def killed() -> Predict:
    return Predict(
        "A processor is started again on an empty machine. What must it read to know its table?",
        {
            EVERY: "That helps, too; but most of it was overwritten by what came later.",
            KEYS: "Compaction keeps the last record of each key, and that is the table.",
            ONE: "Then the table would have to fit into one record.",
        },
        hint="What does compaction leave?",
    )


def killed_outcome(seen: Killed) -> str:
    read = seen.replayed["compacted"]
    return ONE if read == 1 else KEYS if read < seen.replayed["changelog"] / 2 else EVERY


def decoupled() -> Predict:
    return Predict(
        "The books are a service that is added when sixty orders have been made. What does it get?",
        {
            FINDS: "They are still in the topic, and a new group may begin with the first.",
            PART: "So it is in a queue that forgets what was delivered.",
            EMPTY: "A topic keeps its records, whoever has read them, until their time is over.",
        },
        hint="Who decides when a record goes?",
    )


def decoupled_outcome(seen: Decoupled) -> str:
    return FINDS if seen.books == seen.sent else PART if seen.books else EMPTY


def kinds() -> Predict:
    return Predict(
        "300 cards of five guests were counted by guest. How many rows has the state?",
        {
            EACH: "It is a count: the cards themselves are in the topic, and needn't be kept.",
            GUESTS: "A row is a key and its count so far, however often that has changed.",
            BATCHES: "Each micro-batch changes rows that are there already.",
        },
        hint="What does count need to know when the next card comes?",
    )


def kinds_outcome(seen: "Kinds") -> str:
    return EACH if seen.keys == seen.events else GUESTS if seen.keys == 5 else BATCHES


def joined() -> Predict:
    return Predict(
        "Orders and payments are joined, by hand and by Spark, and both are restarted in between. "
        "What does the one by hand lose?",
        {
            BUFFERS: "They waited in a dict for their other half, and the dict went.",
            FINE: "Then its buffers would have to be kept somewhere, as Spark keeps its state.",
        },
        hint="Where is an order while its payment is on the way?",
    )


def joined_outcome(seen: "Joined") -> str:
    return FINE if seen.hand == seen.expected else BUFFERS


def late() -> Predict:
    return Predict(
        "An error at the till is reported half a minute late; its window was closed long ago. "
        "What becomes of it?",
        {
            COUNTED: "Then every window would have to be kept for ever, in case something comes.",
            DROPPED: "Its window's state is gone, the result was sent, and a counter tells of it.",
            STOPS: "Late records are a part of life; a query lives with them.",
        },
        hint="What is a watermark for?",
    )


def late_outcome(seen: "Alarmed") -> str:
    if seen.windows["12:00:00"] == seen.batch["12:00:00"]:
        return COUNTED
    return DROPPED if seen.dropped else STOPS


def same() -> Predict:
    return Predict(
        "The same count, in SQL and as a program. Which of them runs quicker?",
        {
            SQL: "What runs does not know who has said it.",
            CODE: "What runs does not know who has said it.",
            EQUAL: "Both become the same operators, and those run.",
        },
        hint="What does Spark make of either?",
    )


def same_outcome(seen: "Same") -> str:
    return EQUAL if seen.operators["SQL"] == seen.operators["program"] else CODE


def survived() -> Predict:
    return Predict(
        "A broker is killed under a query that writes a bill for each order, exactly once. "
        "What about the bills?",
        {
            MISSING: "What was not acknowledged is sent again, to whoever leads then.",
            TWICE: "So it may be without exactlyOnce, where a task that is run again writes again.",
            EXACT: "Each epoch's rows are staged, decided once, and published once.",
        },
        hint="What is known of a record when its broker dies before it answers?",
    )


def survived_outcome(seen: "Survived") -> str:
    return MISSING if seen.lost else TWICE if seen.doubled else EXACT
