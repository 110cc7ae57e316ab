"""Mutants of 09_operations but for its listeners: changed lines of cells."""

from tests.labs.mutants import Mutant

ALONE = "cluster one-predict one-three one-alone one-verdict"
OUT = "cluster one-predict one-three out-grow out-run out-move out-moved out-verdict out-end"
MANY = "cluster one-predict many-measure many-take-over many-run many-verdict"
ENSEMBLE = (
    "cluster zk-predict zk-work zk-counts zk-measured zk-measure zk-run zk-verdict zk-scale-verdict"
)
MAJORITY = "cluster zk-predict zk-work quorum-works quorum-all quorum-run quorum-verdict quorum-end"
NOISY = (
    "cluster noisy-predict noisy-quota noisy-sends noisy-run noisy-gauge noisy-sent noisy-read "
    "noisy-verdict"
)
WHO = "cluster who-predict who-cluster who-lists who-allowed who-znodes who-verdict who-end"

MUTANTS = [
    Mutant(
        "a super user is denied something",
        "C271",
        WHO,
        [('"true",  # change me', '"true",\n    "super.users": "User:alice",  # change me')],
    ),
    Mutant(
        "somebody starts the only broker at once, and nobody switches it off for a core",
        "C262 C263",
        f"{ALONE} up-run up-limit up-verdict up-end",
        [
            ("    sleep(pause + 2)", "    solo.restart(1)\n    sleep(pause + 2)"),
            ("    solo.stop_broker(1)\n", ""),
        ],
    ),
    Mutant(
        "the new broker was there when the topic was created",
        "C260",
        OUT,
        [
            ("Cluster(brokers=3, ", "Cluster(brokers=4, "),
            ("replicas=[[1, 2], ", "replicas=[[1, 4], "),
        ],
    ),
    Mutant(
        "the number of partitions stays",
        "C261",
        MANY,
        [
            ("(3, 6, 12)", "(3, 6)"),
            ("partitions=PER_BROKER * (size - had)", "partitions=1 if had else 30"),
        ],
    ),
    Mutant(
        "one server is asked for all, and there is one partition",
        "C096 C291",
        ENSEMBLE,
        [
            ("clients[number % len(clients)]", "clients[0]"),
            ("partitions=30, replicas=1", "partitions=1, replicas=1"),
            ("in range(30)", "in range(1)"),
        ],
    ),
    Mutant(
        "two of five servers die",
        "C098",
        MAJORITY,
        [
            ("zookeepers=servers", "zookeepers=5"),
            ("serve = left if 2 * left > servers else 0", "serve = left + 2"),
        ],
    ),
    Mutant(
        "a quota that is more than anybody sends",
        "C272",
        NOISY,
        [('"producer_byte_rate": 500_000', '"producer_byte_rate": 5_000_000_000')],
    ),
]  # fmt: skip
