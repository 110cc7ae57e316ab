"""Mutants of 09_operations: its sections about listeners."""

from tests.labs.mutants import Mutant

CRASH = "cluster ack-predict ack-crash ack-die ack-lanes ack-polls ack-verdict"
COUNT = "cluster ack-predict ack-crash ack-count ack-count-table ack-count-verdict ack-count-ledger"
MANUAL = "cluster ack-predict ack-crash ack-manual ack-manual-run ack-manual-verdict"
TWICE = "cluster ack-predict ack-crash ack-twice ack-twice-run ack-twice-verdict"
PARALLEL = "cluster parallel-predict parallel-work"


MUTANTS = [
    Mutant(
        "RECORD commits after each poll, and BATCH after each record",
        "C273 C274",
        CRASH,
        [
            (
                "runs = {mode.name: crash(mode) for mode in AckMode}",
                'runs = {it: crash("BATCH") for it in ("RECORD", "BATCH")}',
            ),
            ('container_of("BATCH"', 'container_of("RECORD"'),
        ],
    ),
    Mutant(
        "no time to wait for, and a count that each poll reaches",
        "C275 C276",
        COUNT,
        [
            (
                'listen("TIME", 200, 5, pause=0.005, ack_time=0.3)',
                'listen("TIME", 200, 5, pause=0.005, ack_time=0.0)',
            ),
            ("count = 120", "count = 50"),
        ],
    ),
    Mutant(
        "MANUAL commits at once, and MANUAL_IMMEDIATE later",
        "C277 C278",
        MANUAL,
        [
            ('order("MANUAL", some, 50)', 'order("MANUAL_IMMEDIATE", some, 50)'),
            ('order("MANUAL_IMMEDIATE", each, 10)', 'order("MANUAL", each, 10)'),
        ],
    ),
    Mutant(
        "both listeners acknowledge",
        "C279",
        TWICE,
        [("    # acknowledgment.acknowledge()", "    acknowledgment.acknowledge()")],
    ),
    Mutant(
        "more partitions than consumers",
        "C280",
        f"{PARALLEL} parallel-listen parallel-run parallel-verdict",
        [("shared.cluster(), 4  #", "shared.cluster(), 8  #")],
    ),
    Mutant(
        "nothing is bound to an offset",
        "C281",
        f"{PARALLEL} parallel-bound parallel-bound-run parallel-bound-verdict",
        [("PartitionOffset(two, 1, 100)]", "PartitionOffset(two, 1)]")],
    ),
    Mutant(
        "two listeners share a group",
        "C288",
        f"{PARALLEL} parallel-listen parallel-run parallel-groups parallel-groups-verdict",
        [
            (
                '[shared.fresh("zhugeGroup"), shared.fresh("tulingGroup"), None]',
                '[*[shared.fresh("zhugeGroup")] * 2, None]',
            ),
            (
                "all(len(it.calls()) == 10 for it in containers)",
                "sum(len(it.calls()) for it in containers) == 20",
            ),
        ],
    ),
    Mutant(
        "the file has another ack mode",
        "C295",
        f"{PARALLEL} parallel-yml parallel-yml-run parallel-yml-verdict",
        [("ack-mode: MANUAL_IMMEDIATE", "ack-mode: MANUAL")],
    ),
]
