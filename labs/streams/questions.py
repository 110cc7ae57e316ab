"""The questions of 04_streams. Read it after you have made your guesses.

Each is asked before a cell is run; the outcome is taken from what the run did.
"""

from widgets import Predict

GREET, COUNT, NEITHER = "The greetings", "The counts", "Neither"
YES, NO = "Yes", "No"
GOES, WAITS = "It goes on", "It waits"
END, NOTHING = "That the topic ends here", "Nothing"
HALF, IDLE = "Half of the records", "Nothing, for now"
DOUBLE, TENS = "About twice as long", "More than ten times as long"
EVERY, KEYS, ONE = "Every change there ever was", "Little more than the table", "One record"
FINDS, PART, EMPTY = "All orders", "The orders since it came", "None"
EACH, GUESTS, BATCHES = "One for each card", "One for each guest", "One for each micro-batch"
BUFFERS, FINE = "Orders whose payment has not come", "Nothing"
SQL, CODE, EQUAL = "The SQL", "The program", "Neither: it is the same"
COUNTED, DROPPED, STOPS = "It is counted", "It is dropped, and that is noted", "The query fails"
PARTS, ONCE = "With each part", "Once, when all orders are there"
OLD, NEW, BOTH = "To the garden", "To the bar", "To both"
MISSING, TWICE, EXACT = "Some are missing", "Some are there twice", "Each is there once"


def end() -> Predict:
    return Predict(
        "A consumer has read the newest record of a topic and calls poll() again. What is it told?",
        {
            END: "A file has an end. A topic has a newest record, and it is the newest for now.",
            NOTHING: "poll() returns nothing: not yet. It may come in a second, or never.",
        },
        hint="Could a broker know that no record will follow?",
    )


def ended(told: bool) -> str:
    return END if told else NOTHING


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


def differs(greetings_same: bool, counts_same: bool) -> str:
    return GREET if not greetings_same else NEITHER if counts_same else COUNT


def instances() -> Predict:
    return Predict(
        "Two instances of a processor read a topic with one partition. What does the second do?",
        {
            HALF: "A partition is given to one member of a group only.",
            IDLE: "There is no partition for it. It is a reserve, until the first one dies.",
        },
        hint="What is it that a group shares?",
    )


def the_second(done: int) -> str:
    return HALF if done else IDLE


def past() -> Predict:
    return Predict(
        "A hundred cards are in a topic. Can we still know how much Mei had after the fiftieth?",
        {
            YES: "Fold the stream up to that offset. All records before it are still there.",
            NO: "A table would have overwritten it; the log of its changes has not.",
        },
        hint="What has been overwritten?",
    )


def remembered(known: bool) -> str:
    return YES if known else NO


def back() -> Predict:
    return Predict(
        "A stream of cards makes a table of balances. Can you get the stream back from the table?",
        {
            YES: "Its changes, if they were kept, make the table again; but it has only the last.",
            NO: "Quite another stream makes the same table: one card for each guest.",
        },
        hint="Mei has 16. Was that +20 and -4, or +16?",
    )


def recovered(distinct: bool) -> str:
    return YES if distinct else NO


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


def replicated(equal: bool) -> str:
    return YES if equal else NO


def slower() -> Predict:
    return Predict(
        "A count is kept in a database one millisecond away. How many times as long does it take "
        "as with the same database in this process?",
        {
            DOUBLE: "A round trip alone takes longer than all the work here.",
            TENS: "Two round trips of a millisecond stand against some microseconds.",
        },
        hint="How many microseconds does a lookup in memory take, and how many are a millisecond?",
    )


def times(ratio: float) -> str:
    return TENS if ratio > 10 else DOUBLE


def dependence() -> Predict:
    return Predict(
        "The database stands still for a while. What does a job do whose counts are in it?",
        {
            GOES: "It has to ask before it can count, and nobody answers.",
            WAITS: "With the first record: it can't count on without the count so far.",
        },
        hint="What does it need before it can write 17?",
    )


def stood_still(done: int) -> str:
    return GOES if done == 200 else WAITS


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


def needed(compacted: int, all_changes: int) -> str:
    return ONE if compacted == 1 else KEYS if compacted < all_changes / 2 else EVERY


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


def late_service(found: int, sent: int) -> str:
    return FINDS if found == sent else PART if found else EMPTY


def continuous() -> Predict:
    return Predict(
        "Orders come in three parts. When does a streaming query change its table of cups?",
        {
            PARTS: "Each micro-batch reads what is new and changes the table by that.",
            ONCE: "So does a batch. A stream has no end that a query could wait for.",
        },
        hint="Section 1: what is a reader told at the end of a topic?",
    )


def went_on(changed: bool) -> str:
    return PARTS if changed else ONCE


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


def state_of(rows: int) -> str:
    return EACH if rows == 300 else GUESTS if rows == 5 else BATCHES


def moved() -> Predict:
    return Predict(
        "Tom sat in the garden and has moved to the bar. Where are his orders brought?",
        {
            OLD: "The topic may still have that record, but a later one has the same key.",
            NEW: "The last record of a key counts: that makes a table of the topic.",
            BOTH: "So it would be if the topic was joined as a stream, and not as a table.",
        },
        hint="How many rows has Tom in the table?",
    )


def brought(seats: set[str]) -> str:
    return BOTH if len(seats) > 1 else NEW if seats == {"bar"} else OLD


def joined() -> Predict:
    return Predict(
        "Orders and payments are joined, by hand and by Spark, and both are restarted in between. "
        "What does the one by hand lose?",
        {
            BUFFERS: "They waited in a dict for their other half, and the dict went.",
            FINE: "Then its dict would have to be kept somewhere, as Spark keeps its state.",
        },
        hint="Where is an order while its payment is on the way?",
    )


def lost(found: int, pairs: int) -> str:
    return BUFFERS if found < pairs else FINE


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


def too_late(counted: bool, dropped: int) -> str:
    return COUNTED if counted else DROPPED if dropped else STOPS


def same() -> Predict:
    return Predict(
        "The same count is written in SQL, and as a program. Which of them takes less time?",
        {
            SQL: "So it would be if Spark had an engine of its own for SQL.",
            CODE: "So it would be if the SQL were read again for each record.",
            EQUAL: "Spark makes the same operators of both, and those run.",
        },
        hint="What does Spark make of either?",
    )


def equal(operators: bool) -> str:
    return EQUAL if operators else CODE


def survived() -> Predict:
    return Predict(
        "A broker is killed, and then the query ends before it has noted its last epoch. What "
        "about the bills, without exactlyOnce?",
        {
            MISSING: "What was not acknowledged is sent again, to whoever leads then.",
            TWICE: "The epoch is run again, and for the producer its bills are new records.",
            EXACT: "So it is with exactlyOnce: an epoch is staged, decided once, published once.",
        },
        hint="What does a query know of an epoch that it has not noted?",
    )


def billed(missing: int, doubled: str) -> str:
    return MISSING if missing else TWICE if doubled == "some" else EXACT
