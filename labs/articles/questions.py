"""The predictions of the appendix. Read it after you have made yours.

Each question has a function beside it that says, from what was found, which answer came true.
"""

from collections.abc import Sequence

from widgets import Predict

CREATED, WAITS, REFUSED = "It is created", "The command waits", "The command fails"


def without_broker() -> Predict:
    return Predict(
        "ZooKeeper runs, no broker has been started yet. What does `kafka-topics.sh --create` do?",
        {
            CREATED: "The command could write the znodes, but on which broker is the replica?",
            WAITS: "It does not wait for brokers: it looks once who is registered.",
            REFUSED: "One replica needs one registered broker, and there is none.",
        },
        hint="What does --replication-factor 1 ask for?",
    )


def was_created(done: bool) -> str:
    return CREATED if done else REFUSED


OLDEST, ONE_FOR_ALL, IN_COMMON = (
    "The oldest that it knows",
    "The same for all",
    "The newest of both",
)


def which_version() -> Predict:
    return Predict(
        "Three clients of other makers send to this broker. In which version does each of them "
        "send its Produce request?",
        {
            OLDEST: "It would be understood by every broker, but it could carry no headers.",
            ONE_FOR_ALL: "There is no version of the protocol as a whole: each API has its own.",
            IN_COMMON: "A client asks with ApiVersions, and takes the newest that both know.",
        },
        hint="What does a client send first on a new connection?",
    )


def versions_were(sent: Sequence[int]) -> str | None:
    """Which versions clients chose; None: one client alone says nothing of the others."""
    if len(sent) < 2:
        return None
    if max(sent) == 0:
        return OLDEST
    return ONE_FOR_ALL if len({*sent}) == 1 else IN_COMMON


WITHIN_TWO, WITHIN_TEN, MORE_THAN_TEN = "Up to 2", "Up to 10", "More than 10"


def one_figure() -> Predict:
    return Predict(
        "A producer sends records of 20 bytes in batches. Then it sends records of 200 bytes, each "
        "alone. How many times as many records a second does it send the first way?",
        {
            WITHIN_TWO: "Then one figure would do for a machine.",
            WITHIN_TEN: "The size alone does that; but there are the batches.",
            MORE_THAN_TEN: "The way of sending matters more than the machine.",
        },
        hint="How many requests are that?",
    )


def figure_was(ratio: float) -> str:
    return WITHIN_TWO if ratio < 2 else WITHIN_TEN if ratio < 10 else MORE_THAN_TEN
