"""The predictions of 09_operations, and what came of them."""

from widgets import Predict

# -- quotas ----------------------------------------------------------------------------------------

REFUSED, LOST, LATER = "An error, for what is too much", "Nothing: it is dropped", "A pause"


def over_its_quota() -> Predict:
    return Predict(
        "A client may send 500 KB a second. It sends 3 MB as fast as it can. What does it get for "
        "what is too much?",
        {
            REFUSED: "Only requests that create or delete topics are refused for a quota.",
            LOST: "A broker that takes a record stores it, and says so.",
            LATER: "The broker answers at once, with a time to wait, and reads nothing until then.",
        },
        hint="The protocol has a field for it in nearly each answer: throttle_time_ms.",
    )


def got(answers: int, errors: int, sent: int) -> str:
    return REFUSED if errors else LOST if answers < sent else LATER


# -- access control --------------------------------------------------------------------------------

BOB_MAY, BOB_MAY_NOT = "Yes", "No"


def may_bob_write() -> Predict:
    return Predict(
        "A topic without any access list is open to everybody here. Then one entry about `orders` "
        "forbids alice to write. There is no other entry. May bob write to `orders`?",
        {
            BOB_MAY: "Nobody denies it to him, but nobody allows it either.",
            BOB_MAY_NOT: "There is a list about `orders` now, so it is closed: what no list allows "
            "is forbidden.",
        },
        hint="`allow.everyone.if.no.acl.found`: read the name once more.",
    )


def bob(outcome: str) -> str:
    return BOB_MAY if outcome == "written" else BOB_MAY_NOT


# -- one, or many ----------------------------------------------------------------------------------

BY_ITSELF, WITH_HELP, AT_ONCE = "Yes, after some seconds", "No, not without help", "Yes, at once"


def one_of_three() -> Predict:
    return Predict(
        "The leader of a partition is killed. Two more brokers have the partition. Is a record "
        "acknowledged again before somebody starts the broker?",
        {
            AT_ONCE: "First it must be noticed that the leader is dead.",
            BY_ITSELF: "Its session with ZooKeeper has to end; then another replica in sync leads.",
            WITH_HELP: "So it is if nobody else has the partition.",
        },
        hint="Here a session ends after six seconds.",
    )


def came_back(answered: int, seconds: float) -> str:
    return WITH_HELP if not answered else AT_ONCE if seconds < 1 else BY_ITSELF


NONE_AT_ALL, ITS_SHARE, LEADS_ALL = "None", "Three of twelve replicas", "All twelve replicas"


def fourth_broker() -> Predict:
    return Predict(
        "Three brokers have six partitions with two replicas each. A fourth is added, and is up. "
        "How many replicas does it get?",
        {
            NONE_AT_ALL: "Where a replica is was decided when the topic was created.",
            ITS_SHARE: "That is what a reassignment may make of it; somebody has to order it.",
            LEADS_ALL: "Replicas are never given up by themselves.",
        },
        hint="Moving a partition is copying it. Who decides when the network is free for that?",
    )


def got_partitions(number: int) -> str:
    return ITS_SHARE if number else NONE_AT_ALL


AS_MUCH, FOUR_TIMES, MORE = "As much as before", "About four times as much", "Even more"


def four_times_the_brokers() -> Predict:
    return Predict(
        "Four times as many brokers, with four times as many partitions. How many bytes does a new "
        "controller send, compared with before?",
        {
            AS_MUCH: "It tells each broker about every partition.",
            FOUR_TIMES: "So it would be if each broker were told about its own partitions only.",
            MORE: "Four times as many brokers are told about four times as many partitions.",
        },
        hint="Which broker may be asked by a client where a partition is?",
    )


def times_as_much(ratio: float) -> str:
    return AS_MUCH if ratio < 2 else FOUR_TIMES if ratio < 6 else MORE


# -- ZooKeeper -------------------------------------------------------------------------------------

FIVE_TIMES, TWICE, NO_MORE = "Five times as many", "Twice as many", "No more than before"


def five_servers() -> Predict:
    return Predict(
        "ZooKeeper gets five servers in place of one. How many writes a second does it take?",
        {
            FIVE_TIMES: "So it would be if each write went to one server only.",
            TWICE: "So it would be if two or three of the servers were enough for a write.",
            NO_MORE: "The leader sends each write to all, and waits for more than half of them.",
        },
        hint="Any server may answer a read. Which servers have to know a write?",
    )


def writes_were(ratio: float) -> str:
    """`ratio`: as many as with one."""
    return FIVE_TIMES if ratio > 3 else TWICE if ratio > 1.5 else NO_MORE


ALL_GOES_ON, RECORDS_ONLY, NOTHING = "All goes on", "Records, and nothing else", "Nothing goes on"


def without_a_majority() -> Predict:
    return Predict(
        "Two of three ZooKeeper servers are dead. What still works in Kafka?",
        {
            ALL_GOES_ON: "One of three is not more than half, so it serves nobody.",
            RECORDS_ONLY: "Leaders go on without ZooKeeper, until something has to change.",
            NOTHING: "A leader asks ZooKeeper only when the ISR or the leader changes.",
        },
        hint="Does a producer ever speak to ZooKeeper?",
    )


def worked(acknowledged: bool, created: bool, elected: bool) -> str:
    return ALL_GOES_ON if created and elected else RECORDS_ONLY if acknowledged else NOTHING
