"""The ledger and the questions of 07_promises. Read it after you have made your guesses.

A question with answers to choose from has a function beside it that says, from what the run has
found, which of them came true.
"""

from collections.abc import Collection, Mapping, Sequence

from widgets import Estimate, Ledger, Predict
from widgets.estimate.number_line import NumberLine

ledger = Ledger("07_promises")


def how_many() -> Estimate:
    return Estimate(
        "Three replicas are in sync; a message to one of them takes 800 ms. min.insync.replicas is "
        "2. After how many ms does a producer with acks=all hear that its record is stored?",
        NumberLine(10, 10_000, "ms", within=1.25),
        "The leader waits for each member of the ISR, and all three are in it: 800 ms for the "
        "record, and 800 ms for the Fetch that comes after it.",
        holds=(1500, 1900),
        less="min.insync.replicas does not say for how many the leader waits; and after 800 ms it "
        "does not know yet that the slow one has the record.",
        more="The Fetch of the slow one waited at the leader, so the record's way is one message.",
        hint="A slow replica can be in sync. Which of them may become the next leader?",
    )


def storm() -> Estimate:
    return Estimate(
        "With acks=0 a producer sends a record every 10 ms, a hundred in all. In the middle the "
        "leader is killed. How many of the hundred does the next leader not have?",
        NumberLine(0, 100, "records", within=10),
        "With acks=0 nobody answers, so the producer goes on sending to the dead leader, and sends "
        "nothing again.",
        holds=(40, 60),
        less="Few were on their way to the followers. But nothing tells the producer to stop.",
        more="What was sent before the death was copied: the followers are 20 ms away.",
        hint="When does the producer learn that the leader is dead?",
    )


NO_COPY, ONE_COPY, TWO_COPIES = "None", "One", "Two"


def lost_answer() -> Predict:
    return Predict(
        "The broker stores a record, and its answer is lost. The producer has retries=3. How many "
        "copies are in the log?",
        {
            NO_COPY: "The record was stored before the answer was lost.",
            ONE_COPY: "To recognise the second one the broker would need a number in it. A "
            "producer that is not idempotent sends none.",
            TWO_COPIES: "The producer heard nothing, and sent it again. Nothing in the second "
            "request says that it is the same record.",
        },
        hint="What does the producer know? What does the broker know?",
    )


def copied(copies: int) -> str:
    return (NO_COPY, ONE_COPY, TWO_COPIES)[min(copies, 2)]


STILL_ONE, AGAIN = "One: the broker has seen it", "Two"


def restarted() -> Predict:
    return Predict(
        "An idempotent producer sends an order. Its program restarts, does not know whether the "
        "order was delivered, and sends it again. How many are in the log?",
        {
            STILL_ONE: "The broker compares numbers, not contents, and a new session begins a new "
            "series of numbers.",
            AGAIN: "The new session has a new producer id. To the broker it is another one.",
        },
        hint="By what could the broker know that it is the same order?",
    )


def sent_again(copies: int) -> str:
    return AGAIN if copies > 1 else STILL_ONE


LOST, TWICE, NEITHER = "It is lost", "It is processed twice", "Neither"


def dies() -> Predict:
    return Predict(
        "A reader processes a record and dies before it commits. What becomes of the record?",
        {
            LOST: "It would be lost if the reader committed first, and processed then.",
            TWICE: "The group's offset is still before it: the next reader gets it again.",
            NEITHER: "Two steps, and a death between them: one of the two has to show it.",
        },
        hint="Where does the next reader of the group begin?",
    )


def died(found: Mapping[str, int]) -> str:
    return LOST if found["lost"] else TWICE if found["twice"] else NEITHER


TEN, ALL_OF_THEM, HUNDRED = "Ten", "A hundred and ten", "A hundred"


def new_group() -> Predict:
    return Predict(
        "A hundred records are stored. A new group starts with the default settings, then ten more "
        "are sent. How many does it get?",
        {
            TEN: "auto.offset.reset is latest: without a committed offset it starts at the end.",
            ALL_OF_THEM: "That would be auto.offset.reset=earliest.",
            HUNDRED: "What is sent after the start is read in any case.",
        },
        hint="A new group has no committed offset. Who says where to begin?",
    )


def got(count: int) -> str:
    return {10: TEN, 100: HUNDRED}.get(count, ALL_OF_THEM)


ALL_PARTS, FIRST_PART, LAST_PART = "All three", "Only the first", "Only the last"


def loop() -> Predict:
    return Predict(
        "For each of three partitions the loop calls assign([partition]) and seek. Which of them "
        "does the consumer read then?",
        {
            ALL_PARTS: "assign does not add: it says what the whole assignment is.",
            FIRST_PART: "Each assign replaces the one before it, and the last one stays.",
            LAST_PART: "Each assign replaces the one before it.",
        },
        hint="What does assign do with the partitions that the consumer had before?",
    )


def looped(partitions: Collection[int]) -> str:
    if len(partitions) == 1:
        return FIRST_PART if 0 in partitions else LAST_PART
    return ALL_PARTS


NONE_OF_IT, HALF_OF_IT, WHOLE = "Nothing", "Half of it", "All of it"


def late() -> Predict:
    return Predict(
        "The second transaction has written order 2 when the first one's EndTxn (commit) comes "
        "again. Then it writes bill 2 and aborts. What does read_committed find of it?",
        {
            NONE_OF_IT: "For that the coordinator would have to see that the request is of another "
            "transaction. A request names its producer and its epoch, and both are right.",
            HALF_OF_IT: "What was written before the late commit is committed, and what came after "
            "it is a transaction of its own, which is aborted.",
            WHOLE: "Bill 2 was written after the late commit, so that commit does not contain it.",
        },
        hint="By what does the coordinator know which transaction an EndTxn is about?",
    )


def found(partitions: Sequence[Sequence[str]]) -> str:
    """`partitions`: what is committed in each."""
    second = sum(value.endswith(" 2") for values in partitions for value in values)
    return (NONE_OF_IT, HALF_OF_IT, WHOLE)[second]
