"""The questions of 02_replication. Read it after you have made your guesses.

Beside each question with answers to choose from is a function that says, from what a cell found,
which of them came true.
"""

from collections.abc import Collection, Sequence

from widgets import Estimate, Predict
from widgets.estimate.number_line import NumberLine

ALL_READ, SOME, NONE = "All of them", "About half", "None, until it is back"


def copies() -> Predict:
    return Predict(
        "A thousand records are in a partition with two replicas. The leader's process is killed. "
        "How many of the records can be read?",
        {
            ALL_READ: "Each replica is a whole copy, and one that was in sync leads now.",
            SOME: "Replicas are not shares: each one has every record of the partition.",
            NONE: "With a single replica it would be so. Here another one has everything.",
        },
        hint="What does each of the two have in its log?",
    )


def copied(found: int) -> str:
    return {1000: ALL_READ, 0: NONE}.get(found, SOME)


NOTHING_WRITTEN, ONE_LEADER, EVERYTHING = (
    "To none: nobody else knows the leaders",
    "To the one that broker 1 leads",
    "To all three",
)


def one_address() -> Predict:
    return Predict(
        "A new producer knows the address of broker 1, and who keeps the metadata is paused: "
        "ZooKeeper, or the controllers. To which of the three partitions can it write?",
        {
            NOTHING_WRITTEN: "It is written there, but every broker knows it, too.",
            ONE_LEADER: "Broker 1 also knows the other leaders, and tells the producer.",
            EVERYTHING: "Any broker tells who leads; the producer connects to each leader.",
        },
        hint="Who could tell the producer where the leaders are?",
    )


def reached(left: int, leaders: Collection[int]) -> str:
    if left == 0 and len(leaders) == 3:
        return EVERYTHING
    return ONE_LEADER if leaders else NOTHING_WRITTEN


PASSES, REFUSES, STORES = "It passes it on to the leader", "It refuses", "It stores it itself"


def follower() -> Predict:
    return Predict(
        "A record is sent to a follower. What does the follower do?",
        {
            PASSES: "Brokers forward no records. To find the leader is the client's work.",
            REFUSES: "It answers NOT_LEADER_OR_FOLLOWER, and the client asks for metadata and "
            "tries the leader.",
            STORES: "Then the logs would differ at once. Only the leader gives offsets.",
        },
        hint="Who decides in which order records stand in the log?",
    )


def followed(stored: Collection[str]) -> str:
    return PASSES if {"sent to 2", "sent to 3"} & {*stored} else REFUSES


LEADER_ASKS, FOLLOWER_ASKS, BOTH_ASK = "The leader", "The follower", "Both, in turn"


def direction() -> Predict:
    return Predict(
        "Records arrive at the leader. Who sends a request, so that a follower gets them?",
        {
            LEADER_ASKS: "Then a leader would have to know how fast each follower can take them.",
            FOLLOWER_ASKS: "It sends a Fetch, as a consumer does, and says from which offset on.",
            BOTH_ASK: "A leader answers a Fetch, and asks for nothing.",
        },
        hint="Think of a follower that was away for an hour. Who knows what it lacks?",
    )


def directed(asks: Collection[tuple[str, str, str]]) -> str:
    who = {asker for asker, _, _ in asks} - {"the producer"}
    if len(who) != 1:
        return BOTH_ASK
    return FOLLOWER_ASKS if "a follower" in who else LEADER_ASKS


def how_long() -> Estimate:
    return Estimate(
        "A message to either follower takes 250 ms. After how many ms does the producer hear?",
        NumberLine(50, 5000, "ms", within=1.25),
        "250 ms for the record, and 250 ms for the Fetch that asks for what comes next.",
        holds=(450, 600),
        less="After 250 ms the followers have it. But the leader does not know that yet.",
        more="So it is when a follower's Fetch is on its way just then. Here both were waiting.",
        hint="There are only Fetch requests and their answers. Which one says “I have it”?",
    )


def leaving() -> Estimate:
    return Estimate(
        "A follower stops answering while records arrive. After how many lag limits does it leave "
        "the ISR?",
        NumberLine(0.1, 10, "limits", within=1.1),
        "The leader looks twice per limit, and removes a replica that has been behind for longer "
        "than the limit.",
        holds=(0.95, 1.6),
        less="A pause of a second would then cost a replica.",
        more="Somebody has to look, and the leader does so twice per limit.",
        hint="Does the leader have an alarm clock for each follower?",
    )


BREAKS, GOES_ON = "The producer is told of an error", "It waits for some seconds, then it is stored"
HANGS = "It waits until the follower is back"


def silence() -> Predict:
    return Predict(
        "One of three replicas in sync stops answering. A producer sends with acks=all. What now?",
        {
            BREAKS: "Nothing is wrong with the record: two replicas have it within a moment.",
            GOES_ON: "For as long as the silent one is in the ISR. Then it leaves, and nobody "
            "waits for it any more.",
            HANGS: "With fully synchronous replication it would. But the ISR can shrink.",
        },
        hint="“All” means all that are in sync. Who is?",
    )


def silent(waits: Sequence[int]) -> str:
    return GOES_ON if waits[0] * 10 < waits[1] < 10_000 else HANGS


NOTHING, ZERO_LOST, BOTH_LOST = "None", "Those with acks=0", "Those with acks=0 and acks=1"


def crash() -> Predict:
    return Predict(
        "Which of these records will the next leader not have?",
        {
            NOTHING: "It leads now because it was in sync; but in sync is a matter of seconds.",
            ZERO_LOST: "These are lost. But acks=1 means that one broker has it: the dead one.",
            BOTH_LOST: "With acks=all the producer had no answer yet, and sent them again.",
        },
        hint="Who has answered the producer, with each of the three?",
    )


def crashed(lost: dict[str, int]) -> str:
    return {(True, True): BOTH_LOST, (True, False): ZERO_LOST}.get(
        (bool(lost["0"]), bool(lost["1"])), NOTHING
    )


THREE, FOUR = "Broker 3", "Broker 4"
EITHER = "One of them: they race"


def order() -> Predict:
    return Predict(
        "The replicas are 2, 3, 4, the ISR is 2, 4, 3. The leader, 2, is killed. Who leads next?",
        {
            THREE: "The order is that of the replicas; the ISR only says who may.",
            FOUR: "It is next in the ISR, but that order does not matter.",
            EITHER: "No replica runs for it. The controller appoints one.",
        },
        hint="Which of the two lists was written by an administrator, as a preference?",
    )


def ordered(leader: int) -> str:
    return {3: THREE, 4: FOUR}[leader]


OLD_ALL, OLD_NEW, OLD_NONE = "Both", "Only the one that waited", "Neither"


def disaster() -> Predict:
    return Predict(
        "In the end all replicas are back. Which topic still has the thousand records?",
        {
            OLD_ALL: "The others had them on disk, but they follow the one that leads now.",
            OLD_NEW: "It could not be used for a while, but has everything. The other one could "
            "be used, and has lost a thousand.",
            OLD_NONE: "A replica from the ISR came back too, with everything on its disk.",
        },
        hint="What does a follower do with records that its leader does not have?",
    )


def after_disaster(kept: dict[str, int]) -> str:
    waits, takes = (kept[choice] == 1010 for choice in ("false", "true"))
    return {(True, True): OLD_ALL, (True, False): OLD_NEW}.get((waits, takes), OLD_NONE)


KEPT, GONE = "It is there", "It is lost"


def cut() -> Predict:
    return Predict(
        "In the old way, what becomes of that record?",
        {
            KEPT: "So it is today. But then a follower first cut its log to its own HW.",
            GONE: "The follower removed it, to fetch it again; and then its leader was dead.",
        },
        hint="Where is the follower's own high watermark at that moment?",
    )


def cut_off(log: Collection[str]) -> str:
    return KEPT if "c" in log else GONE


NEVER, SELDOM, ALWAYS = "In none", "In some", "In all four"


def futures() -> Predict:
    return Predict(
        "In how many of the four futures does cutting to the high watermark break the promise?",
        {
            NEVER: "So it would be if a follower never cut what it still needs.",
            SELDOM: "A follower has to cut just before its leader dies: few runs have that.",
            ALWAYS: "So it would be if each cut lost something; most remove what is not committed.",
        },
        hint="What had to happen in the two stories above, and how close to each other?",
    )


def failed(count: int) -> str:
    return NEVER if not count else ALWAYS if count == 4 else SELDOM


YES, DEPENDS, NO = "Yes, always", "It depends on the topic", "No, three of five are too few"


def two_of_five() -> Predict:
    return Predict(
        "Five brokers, and two of them die. Does the cluster go on?",
        {
            YES: "Brokers are no quorum, but each partition needs its own replicas.",
            DEPENDS: "On how many replicas it has, and on how many of them must be in sync.",
            NO: "Brokers do not vote. Partitions have leaders, and these need no majority.",
        },
        hint="What does a partition need so that its leader may take a record?",
    )


def two_died(refused: Sequence[int]) -> str:
    some = {bool(each) for each in refused}
    return DEPENDS if len(some) == 2 else NO if some == {True} else YES
