"""The questions of 02_replication. Read it after you have made your guesses.

Each question has a function beside it that says, from what the engine did, which answer came true.
"""

from replication import acks, elections, five, herd, insync, marks, roles, truncation, unclean
from widgets import Predict

ALL_READ, SOME, NONE = "All of them", "About two thirds", "None, until it is back"


def copies() -> Predict:
    return Predict(
        "A thousand records are on three brokers. The leader's process is killed. "
        "How many of the records can be read?",
        {
            ALL_READ: "Each replica is a whole copy, and one in sync leads now.",
            SOME: "Replicas are not shares: each one has every record of the partition.",
            NONE: "With a single replica it would be so. Here two more have everything.",
        },
        hint="What does each of the three have in its log?",
    )


def copied(seen: roles.Place) -> str:
    return {roles.MESSAGES: ALL_READ, 0: NONE}.get(seen.found, SOME)


PASSES, REFUSES, STORES = "It passes it on to the leader", "It refuses", "It stores it itself"


def follower() -> Predict:
    return Predict(
        "A record is sent to a follower. What does the follower do?",
        {
            PASSES: "Brokers forward no records. To find the leader is the client's work.",
            REFUSES: "It answers NOT_LEADER_OR_FOLLOWER, and the client asks for metadata and "
            "tries the leader.",
            STORES: "Then the logs would go apart at once. Only the leader gives offsets.",
        },
        hint="Who decides in which order records stand in the log?",
    )


def followed(seen: roles.Answers) -> str:
    return PASSES if seen.grew else STORES if seen.takes != {seen.leader} else REFUSES


AT_ONCE, ONE_WAY, NEXT_FETCH = "At once", "After 250 ms", "After more than 500 ms"


def committed() -> Predict:
    return Predict(
        "A record arrives at the leader. When does the leader know that both followers have it?",
        {
            AT_ONCE: "The leader has it at once, but the way to the others takes time.",
            ONE_WAY: "By then they have it. But how would the leader hear of that?",
            NEXT_FETCH: "Nobody sends an acknowledgement: the next Fetch, which asks for what "
            "comes after the record, is what tells the leader.",
        },
        hint="There are only Fetch requests and their answers. Which one says “I have it”?",
    )


def known(seen: marks.One) -> str:
    after = seen.committed - seen.leader_has
    return NEXT_FETCH if after > 2 * marks.FAR else ONE_WAY if after >= marks.FAR else AT_ONCE


BREAKS, GOES_ON = "The producer is told of an error", "It waits for some seconds, then it is stored"
HANGS = "It waits until the follower is back"


def silence() -> Predict:
    return Predict(
        "One of three replicas in sync falls silent. A producer sends with acks=all. What now?",
        {
            BREAKS: "Nothing is wrong with the record: two replicas have it within a moment.",
            GOES_ON: "For as long as the silent one counts as in sync. Then it leaves the ISR, and "
            "nobody waits for it any more.",
            HANGS: "With fully synchronous replication it would. But the ISR can shrink.",
        },
        hint="“All” means all that are in sync. Who is?",
    )


def silent(seen: insync.Waiting) -> str:
    return GOES_ON if seen.first > 10 * seen.one and seen.first <= seen.out else HANGS


NOTHING, ZERO_LOST, BOTH_LOST = "None", "Those with acks=0", "Those with acks=0 and acks=1"


def crash() -> Predict:
    return Predict(
        "Which of these records will the next leader not have?",
        {
            NOTHING: "It leads now because it was in sync; but in sync is a matter of seconds.",
            ZERO_LOST: "These are lost. But acks=1 means that one broker has it: the dead one.",
            BOTH_LOST: "With acks=all the producer had no answer yet, and sent them again.",
        },
        hint="Whose word is it that the producer has, with each of the three?",
    )


def crashed(seen: acks.Crash) -> str:
    lost = bool(seen.lost["0"]), bool(seen.lost["1"])
    return {(True, True): BOTH_LOST, (True, False): ZERO_LOST}.get(lost, NOTHING)


TWO, THREE = "Broker 2", "Broker 3"
EITHER = "One of them: they race"


def order() -> Predict:
    return Predict(
        "The replicas are 1, 2, 3, the ISR reads 1, 3, 2. The leader, 1, dies. Who leads next?",
        {
            TWO: "The order is that of the replicas; the ISR only says who may.",
            THREE: "It stands next in the ISR, but nobody goes by that order.",
            EITHER: "No replica runs for it. The controller appoints one.",
        },
        hint="Which of the two lists was written by an administrator, as a preference?",
    )


def ordered(seen: elections.Order) -> str:
    return {2: TWO, 3: THREE}[seen.leader]


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


def noticed(seen: herd.Cost) -> str:
    return FEW if seen.woken <= 4 else HUNDREDS if seen.woken >= 100 else TENS


OLD_ALL, OLD_NEW, OLD_NONE = "Both", "Only the one that waited", "Neither"


def disaster() -> Predict:
    return Predict(
        "In the end all replicas are back. Which topic still has the thousand records?",
        {
            OLD_ALL: "The others had them on disk, but they follow the one that leads now.",
            OLD_NEW: "It was of no use for a while, but has everything. The other was, and hasn't.",
            OLD_NONE: "A replica from the ISR came back too, and nothing had gone from its disk.",
        },
        hint="What does a follower do with records that its leader does not have?",
    )


def after_disaster(seen: unclean.Choices) -> str:
    kept = [it.kept == 10 + unclean.MISSED for it in (seen.waits, seen.takes)]
    return {(True, True): OLD_ALL, (True, False): OLD_NEW}.get((kept[0], kept[1]), OLD_NONE)


KEPT, GONE = "It is there", "It is lost"


def cut() -> Predict:
    return Predict(
        "In the old way, what becomes of that record?",
        {
            KEPT: "So it is today. But then a follower first cut its log to its own HW.",
            GONE: "The follower cut it off, to fetch it again; and then there was nobody to ask.",
        },
        hint="Where is the follower's own high watermark at that moment?",
    )


def cut_off(seen: truncation.Both) -> str:
    return GONE if seen.lost(truncation.OLD) else KEPT


YES, DEPENDS, NO = "Yes, always", "It depends on the topic", "No, three of five are too few"


def two_of_five() -> Predict:
    return Predict(
        "Five brokers, and two of them die. Does the cluster go on?",
        {
            YES: "Brokers are no quorum, but each partition needs its own replicas.",
            DEPENDS: "On how many replicas it has, and on how many of them must be in sync.",
            NO: "Brokers don't vote. Partitions have leaders, and these need no majority.",
        },
        hint="What does a partition need that its leader may take a record?",
    )


def two_died(seen: five.Five) -> str:
    refused = {bool(row.refused) for row in seen.rows}
    return DEPENDS if len(refused) == 2 else NO if refused == {True} else YES
