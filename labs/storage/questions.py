"""What 01_storage asks before it runs. Read it after you have made your guesses.

Each answer has its sentence why; what is right comes from the run.
"""

from widgets import Predict

TOPIC, PARTITIONS, COPIES = "One", "Five", "Fifteen"
ONE, HUNDRED, PACKS = "One", "A hundred", "About ten"
DENSE, GAPS, ANEW = (
    "They close up: 0, 1, 2",
    "They stay: there are gaps",
    "They get new, higher ones",
)
NO_KEY, HALF, EVERY_KEY = "None", "About half of them", "All of them"
MESSAGES, TWICE, FIFTY_ONE = "50", "100", "51"
EACH, SOME, SINGLE = "One for each message", "One for every 4 KB or so", "One for the file"
AS_MANY, FEWER, UNSORTED = (
    "As many, in order of time",
    "Fewer, in order of time",
    "As many, in no order",
)
TIMES, PLUS, SAME = "64 times as many", "Six more", "Just as many"
READ, NOT_READ, BOTH = "Those of the topic that was read", "Those of the other one", "All of them"
ALL, SOME_LEFT, NONE = "Ten", "Some of them", "None"
GO_ON, STOP = "All 200", "None, until the reader goes on"


def folders() -> Predict:
    return Predict(
        "A topic with five partitions is created on three brokers, with one replica of each "
        "partition. How many folders of this topic are there, on all three brokers together?",
        {
            TOPIC: "A topic has no folder of its own. Its name is the first part of other names.",
            PARTITIONS: "A partition is a folder, and one replica means one folder.",
            COPIES: "So it would be with three replicas of each partition.",
        },
        hint="What is it that can lie on another machine?",
    )


def batches() -> Predict:
    return Predict(
        "A producer with linger.ms=1000 is given a hundred messages at once, all for one "
        "partition. How many batches does the file get?",
        {
            HUNDRED: "That would be a header of 61 bytes for each message.",
            PACKS: "It would be so if the messages were large, or came slowly: a batch is closed "
            "when it is full or its time is up.",
            ONE: "The producer waits for linger.ms and packs what has come: one header for all.",
        },
        hint="What does the producer do with a message while it waits?",
    )


def compaction() -> Predict:
    return Predict(
        "Compaction removes three of six messages. What are the offsets of the other three?",
        {
            DENSE: "Then the position of each consumer would point to another message.",
            GAPS: "An offset is given once. Asked for one that is gone, a broker gives the next.",
            ANEW: "That would be a new message, and consumers would read it a second time.",
        },
        hint="Consumers remember offsets, and nobody tells them of a compaction.",
    )


def growth() -> Predict:
    return Predict(
        "A topic with 100 keys grows from 6 partitions to 12. The next message of how many keys "
        "goes to another partition than before?",
        {
            NO_KEY: "The producer takes the hash of the key modulo the number of partitions. It "
            "does not know where earlier messages went.",
            HALF: "A hash that leaves the remainder 1 when divided by 6 leaves 1 or 7 when "
            "divided by 12: one half of the keys stays, the other half moves.",
            EVERY_KEY: "It would be nearly all if 7 came after 6. Here 12 is twice 6.",
        },
        hint="Divide 8 and 14 by 6 and by 12, and look at the remainders.",
    )


def transactions() -> Predict:
    return Predict(
        "Fifty messages are written to an empty partition, each in a transaction of its own. "
        "Which offset does the next message get?",
        {
            MESSAGES: "So it is without transactions.",
            TWICE: "Each commit writes a marker into the log, and a marker takes an offset, too.",
            FIFTY_ONE: "There is a marker for each transaction, not one for all.",
        },
        hint="How does a reader know that a transaction was committed?",
    )


def entries() -> Predict:
    return Predict(
        "400 messages, 68 KB of log, index.interval.bytes=4096. How many entries has the index?",
        {
            EACH: "A dense index would grow as fast as the log has messages.",
            SOME: "It is sparse: an entry when 4 KB have been written since the last one.",
            SINGLE: "That one is the file's name: its base offset.",
        },
        hint="What lies between two entries is found by reading on from the first of them.",
    )


def times() -> Predict:
    return Predict(
        "400 messages carry times in no order. The offset index has 15 entries. How many has the "
        "time index, and in which order?",
        {
            AS_MANY: "So it is if the times of the messages grow.",
            FEWER: "An entry holds the largest time so far. It is left out if that did not grow.",
            UNSORTED: "It could not be searched by halves then.",
        },
        hint="The time index is searched by halves.",
    )


def probes() -> Predict:
    return Predict(
        "The log grows from half a megabyte to 32. How many probes does a lookup take then?",
        {
            TIMES: "So it would be if the index were read from its start.",
            PLUS: "Each probe halves what is left, so twice the log is one probe more: 64 is 2⁶.",
            SAME: "So it would be in an array of equal messages, but messages have any size.",
        },
        hint="How often can you halve a thing until one piece is left?",
    )


def retention() -> Predict:
    return Predict(
        "Two topics hold messages that are one hour old. The messages of one topic have been read. "
        "Now retention.ms becomes one minute for both. Which messages are deleted?",
        {
            READ: "A broker does not delete what was read: other groups may still want it.",
            NOT_READ: "A broker does not know whether somebody still wants to read them.",
            BOTH: "Only age and size count. Retention does not know what was read, or by whom.",
        },
        hint="What does a broker know of its readers?",
    )


def power() -> Predict:
    return Predict(
        "Ten messages are stored on three machines, and acknowledged with acks=all. Then the power "
        "fails on all three at the same moment. How many messages are there when they are back?",
        {
            ALL: "So it is when only the processes die: what they wrote is with the operating "
            "system by then. Or if somebody forced it to the disk.",
            SOME_LEFT: "That is what remains if a part of the log had been forced to the disk.",
            NONE: "They were in three memories and on no disk: Kafka does not force a message to "
            "the disk before it acknowledges it.",
        },
        hint="An acknowledgement says that it was written. Where to?",
    )


def pause() -> Predict:
    return Predict(
        "A reader asks for 32 MB and then takes nothing from its connection. Meanwhile a producer "
        "writes 200 messages to the same partition. How many are acknowledged?",
        {
            GO_ON: "A reader holds no lock on the log. The broker sends it what it takes, and "
            "serves others in between.",
            STOP: "So it would be if a reader locked the log while it reads.",
        },
        hint="Is there anything that the two of them share?",
    )
