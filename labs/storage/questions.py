"""What 01_storage asks before it runs. Read it after you have made your guesses.

Each answer has its sentence why; what is right comes from the run.
"""

from widgets import Predict

ONE, HUNDRED, PACKS = "One", "A hundred", "About ten"
DENSE, GAPS, ANEW = (
    "They close up: 0, 1, 2",
    "They stay: there are gaps",
    "They get new, higher ones",
)
EACH, SOME, SINGLE = "One for each message", "One for every 4 KB or so", "One for the file"
TIMES, PLUS, SAME = "64 times as many", "Six more", "Just as many"
ALL, FLUSHED, NONE = "All of them", "What was forced to the disk", "None"


def batches() -> Predict:
    return Predict(
        "A hundred messages are sent at once to one partition. How many batches does the file get?",
        {
            HUNDRED: "That would be a header of 61 bytes for each message, and a hundred requests.",
            PACKS: "It would be so if they came slowly, or were large: a batch is closed when it "
            "is full or its time is up.",
            ONE: "The producer waits a moment (linger.ms) and packs them: one header for all.",
        },
        hint="Sending small parcels one by one is expensive.",
    )


def compaction() -> Predict:
    return Predict(
        "Compaction takes three of six messages out. What becomes of the offsets of the others?",
        {
            DENSE: "Then every bookmark that a consumer has noted would point to another message.",
            GAPS: "An offset is given once. Who asks for one that is gone gets the next.",
            ANEW: "That would be a new message, and consumers would read it a second time.",
        },
        hint="Consumers remember offsets, and nobody tells them of a compaction.",
    )


def entries() -> Predict:
    return Predict(
        "400 messages, 68 KB of log, index.interval.bytes=4096. How many entries has the index?",
        {
            EACH: "A dense index would grow as fast as the log has messages.",
            SOME: "It is sparse: an entry when 4 KB have been written since the last one.",
            SINGLE: "That one is the file's name: its base offset.",
        },
        hint="What is between two entries is found by walking.",
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


def power() -> Predict:
    return Predict(
        "1000 messages are acknowledged, 600 of them forced to the disk. Then the power fails. "
        "How many does this machine have afterwards?",
        {
            ALL: "So it is when only the process dies: what it wrote is the system's by then.",
            FLUSHED: "The rest was in the machine's memory. That is what replicas are for.",
            NONE: "What was forced to the disk is on the disk.",
        },
        hint="An acknowledgement says that it was written. Where to?",
    )
