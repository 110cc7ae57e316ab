"""Mutants of 07_promises: simulated brokers with a defect, and changed cells.

The brokers of the real cluster are processes of their own, so there the cells are changed; a
learner who does the same sees the same verdicts.
"""

import pytest

from engine.replication.partition import Partition
from tests.labs.mutants import Mutant


def a_leader_that_waits_for_the_minimum(patch: pytest.MonkeyPatch) -> None:
    """As C196 has it: min.insync.replicas says for how many the leader waits."""

    def advance(role: Partition, now: int) -> bool:
        ends = [
            role.end,
            *(role.followers[each].end for each in role.isr if each in role.followers),
        ]
        least = sorted(ends)[-2:][0]  # the end that two members of the ISR have reached
        moved, role.high_watermark = least > role.high_watermark, max(least, role.high_watermark)
        return moved

    patch.setattr(Partition, "advance", advance)


def a_leader_that_waits_for_nobody(patch: pytest.MonkeyPatch) -> None:
    def advance(role: Partition, now: int) -> bool:
        moved, role.high_watermark = role.end > role.high_watermark, role.end
        return moved

    patch.setattr(Partition, "advance", advance)


ACKS = "acks-predict acks acks-storm acks-alone acks-verdict acks-verdict-all"
RETRY = (
    "acks-predict acks-retry-predict acks-retry acks-attempts acks-retry-verdict "
    "acks-backoff-verdict"
)
NUMBERS = (
    "numbers-predict numbers numbers-session numbers-beyond numbers-refused numbers-verdict "
    "numbers-verdict-2"
)
CRASHES = (
    "guarantee-predict guarantee-crash guarantee-one guarantee-chain guarantee-outcome "
    "guarantee-matrix guarantee-verdict"
)
COPIES = (
    "guarantee-predict guarantee-clients guarantee-act guarantee-copy guarantee-copies "
    "guarantee-verdict-2"
)
PLACE = "place-predict place-start place-reset place-state place-verdict place-verdict-start"
COMMITS = (
    "place-predict place-start place-reset place-auto place-auto-run place-sync place-polls "
    "place-verdict-2"
)
TIME = "place-predict place-time-predict place-time place-time-loop place-time-verdict"

MUTANTS = [
    Mutant(
        "a leader that waits for the minimum",
        "C196",
        ACKS,
        defect=a_leader_that_waits_for_the_minimum,
    ),
    Mutant(
        "a leader that waits for nobody: acks",
        "C194 C196 C197",
        ACKS,
        defect=a_leader_that_waits_for_nobody,
    ),
    Mutant("followers without delay", "C194 C195", ACKS, [("[3, 4], ms=20", "[3, 4], ms=1")]),
    Mutant(
        "no answer is lost",
        "C200",
        RETRY,
        [("cluster.drop_next_answer(", "(")],
    ),
    Mutant(
        "nothing is sent again",
        "C198 C200",
        RETRY,
        [('"retries=3": send(retries=3)', '"retries=3": send(retries=0)')],
    ),
    Mutant(
        "another interval",
        "C199",
        RETRY,
        [('"retry.backoff.ms": 300', '"retry.backoff.ms": 600')],
    ),
    Mutant(
        "each number from another producer",
        "C213",
        NUMBERS,
        [("def send(", "ids = iter(range(99))\n\n\ndef send("), ("=7000", "=next(ids)")],
    ),
    Mutant(
        "the next session sends to another partition",
        "C214",
        NUMBERS,
        [('("another session", 0)', '("another session", 1)')],
    ),
    Mutant(
        "idempotence is off",
        "C212 C214",
        NUMBERS,
        [('producer({"enable.idempotence": True, **config})', "producer(config)")],
    ),
    Mutant(
        "the first reader commits last",
        "C209 C215",
        CRASHES,
        [
            (
                'first = chain(("read", "commit", "process")',
                'first = chain(("read", "process", "commit")',
            )
        ],
    ),
    Mutant(
        "the last reader commits first",
        "C210 C215",
        CRASHES,
        [('("read", "process", "commit"), acks="all", retries=3', "HASTY, acks=1, retries=0")],
        given={"HASTY": ("read", "commit", "process")},
    ),
    Mutant(
        "readers die after the commit",
        "C227",
        CRASHES,
        [('crash("process")["', 'crash("commit")["')],
    ),
    Mutant(
        "a leader that waits for nobody: a machine is gone",
        "C215",
        CRASHES,
        defect=a_leader_that_waits_for_nobody,
    ),
    Mutant(
        "the offset is not in the transaction",
        "C211",
        COPIES,
        [('"produce", "mail", "offset", "commit"', '"produce", "mail", "commit"')],
    ),
    Mutant(
        "somebody commits meanwhile",
        "C216",
        PLACE,
        [("unread = files()", 'first("another" + orders, back=True)\nunread = files()')],
    ),
    Mutant("another seek", "C217", PLACE, [("(0, 10, 5000)", "(0, 20, 5000)")]),
    Mutant(
        "the new group starts at the beginning",
        "C219",
        PLACE,
        [('{"group.id": "late" + orders}', '{"group.id": "late" + orders} | EARLIEST')],
        given={"EARLIEST": {"auto.offset.reset": "earliest"}},
    ),
    Mutant(
        "readers that do not commit",
        "C220",
        PLACE,
        [("    consumer.commit(asynchronous=False)\n    consumer.close", "    consumer.close")],
    ),
    Mutant(
        "automatic commits all the time",
        "C218",
        COMMITS,
        [('never = {"enable.auto.commit": False, "seconds": 2.6}', "never = every[500]")],
    ),
    Mutant(
        "larger batches",
        "C225",
        COMMITS,
        [('"max.poll.records": 50', '"max.poll.records": 70')],
    ),
    Mutant("replicas that are near", "C226", COMMITS, [("ms=400", "ms=0")]),
    Mutant(
        "a loop that adds partitions",
        "C221 C223",
        TIME,
        [("consumer.assign([found])", "consumer.incremental_assign([found])")],
    ),
    Mutant("two hours ago", "C222", TIME, [("now - HOUR", "now - 2 * HOUR - 1000")]),
]
