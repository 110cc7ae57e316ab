"""The predictions of 07_operations, and what came of them."""

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
            LATER: "The broker answers at once, names a time to wait, and reads nothing until then.",
        },
        hint="The protocol has a field for it in nearly each answer: throttle_time_ms.",
    )


def got(answers: int, errors: int, sent: int) -> str:
    return REFUSED if errors else LOST if answers < sent else LATER


# -- access control --------------------------------------------------------------------------------

BOB_MAY, BOB_MAY_NOT = "Yes", "No"


def may_bob_write() -> Predict:
    return Predict(
        "What no list is about is open to everybody here. Then one list about `orders` denies "
        "alice to write. There is no other. May bob write to `orders`?",
        {
            BOB_MAY: "Nobody denies it to him, but nobody allows it either.",
            BOB_MAY_NOT: "There is a list about `orders` now, so it is closed: what no list allows "
            "is forbidden.",
        },
        hint="`allow.everyone.if.no.acl.found`: read the name once more.",
    )


def bob(outcome: str) -> str:
    return BOB_MAY if outcome == "written" else BOB_MAY_NOT
