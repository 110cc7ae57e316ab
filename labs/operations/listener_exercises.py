"""The exercises about listeners and about lag, and how each is judged.

count_time   a class that decides when COUNT_TIME commits, beside the engine's own decisions
causes       why each of five groups falls behind, by what was done to them
"""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine import AckMode
from engine.client.listener.ack_mode import PendingAcks
from engine.model import TopicPartition
from operations import lag
from widgets import Trial
from widgets.exercise import Code
from widgets.log.fields import count

# -- count_time ------------------------------------------------------------------------------------

PLACE = TopicPartition("orders", 0)


class AckScript(NamedTuple):
    """Polls of one consumer: how many records each has, and when it is processed."""

    limit: int  # of records
    seconds: float
    polls: Sequence[tuple[int, float]]


def _scripts() -> list[AckScript]:
    chance = random.Random(5)
    found = [
        AckScript(10, 1000, [(4, 1), (4, 2), (4, 3), (4, 4), (4, 5), (4, 6), (10, 7), (1, 8)]),
        AckScript(1000, 5, [(1, 1), (1, 5), (1, 6), (1, 7), (1, 11), (1, 11.5), (1, 30), (1, 31)]),
        AckScript(3, 5, [(3, 4), (1, 6), (1, 10), (3, 12), (1, 13)]),  # the count, then the time
        AckScript(2, 5, [(2, 6), (1, 7), (1, 8)]),  # both at once
    ]
    for number in range(20):
        now, polls = 0.0, []
        for _ in range(30):
            now += chance.choice([0.1, 0.5, 1, 4])
            polls.append((chance.randint(1, 9), round(now, 1)))
        found.append(AckScript(5 + number, chance.choice([1.0, 3.0, 8.0]), polls))
    return found


def count_time() -> Trial:
    return Trial(
        "COUNT_TIME: a class that says after each poll whether to commit",
        _decides,
        hint="Keep the records since the last commit, and the moment of the last commit that the "
        "time has caused. Which of the two changes when the count is reached?",
    )


def _decides(code: Code) -> str:
    for script in _scripts():
        try:
            if wrong := _differs(code, script):
                return wrong
        except Exception as error:  # the learner's, and told
            return f"it raises {type(error).__name__}: {error}"
    return ""


def _differs(code: Code, script: AckScript) -> str:
    engine = PendingAcks(AckMode.COUNT_TIME, script.seconds, script.limit, 0.0)
    own: Any = code(script.limit, script.seconds, 0.0)
    offset, told = 0, list[str]()
    for records, now in script.polls:
        for _ in range(records):
            engine.returned(PLACE, offset)
            own.processed()
            offset += 1
        expected, found = bool(engine.before_poll(now)), own.due(now)
        told.append(f"{count(records, 'record')} at {now:g} s")
        if type(found) is not bool:
            return f"due() gives {found!r}, and not True or False"
        if found is not expected:
            return (
                f"with count={script.limit} and seconds={script.seconds:g}, after polls of "
                f"{', '.join(told[-4:])}, due() gives {found}, and the engine {expected}"
            )
    return ""


# -- causes ----------------------------------------------------------------------------------------

PARTITIONS = "compare the lags of its partitions, and then the ends of their logs"
LOOK = {  # at what, if the cause is another one
    lag.SLOW_MEMBER: PARTITIONS,
    lag.SKEWED_KEY: PARTITIONS,
    lag.POISON: "look twice at the group's generation and at its offsets, some seconds apart",
    lag.TRANSACTION: "compare last_stable and high_watermark of its leaders",
    lag.FOLLOWER: "compare high_watermark and log_end of its leaders",
}


def causes(case: lag.LagCase) -> Trial:
    return Trial(
        "The cause of each of the five lags",
        lambda code: _named(case, code),
        hint="What stands still: nothing, an offset, one partition, or a mark of the log? And who "
        "has to move it?",
        done="Done: each group has its cause.",
    )


def _named(case: lag.LagCase, code: Code) -> str:
    try:
        named = code(case)
    except Exception as error:  # the learner's, and told
        return f"it raises {type(error).__name__}: {error}"
    if not isinstance(named, dict):
        return f"it gives {named!r}, and not a cause for each topic"
    for topic, truth in case.truth.items():
        if named.get(topic) in lag.CAUSES and named[topic] != truth:
            return f"{topic} has another cause than {named[topic]!r}: {LOOK[truth]}"
    for topic in case.truth:  # one that is named and wrong is told before one that is missing
        if named.get(topic) not in lag.CAUSES:
            return f"{topic} has the cause {named.get(topic)!r}, and the causes are {_causes()}"
    return ""


def _causes() -> str:
    return ", ".join(map(repr, lag.CAUSES))
