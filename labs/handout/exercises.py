"""Which cells of which lab make an exercise, where its answer is, and how many points it earns.

    [judge]   task = exercises.rolled(cluster)    shows the task, and says when it is done
    [code]    def my_name(offset): ...            the learner's cell
    [code-points]   points(task, 1)               only in what is handed out

Invariant: `code` names a cell of the lab, or none; where there is none one is put in, for a learner
who would rather write than click.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class Exercise(NamedTuple):
    judge: str  # the cell that shows the task
    code: str  # the cell for the learner's code
    answer: str  # the function or class in labs/answers
    points: int
    call: str = ""  # how that function is called, where the cell does not say it


class Lab(NamedTuple):
    answers: str  # the module in labs/answers
    exercises: Sequence[Exercise]


NONE = Lab("", [])  # of the appendix

LABS: Mapping[str, Lab] = MappingProxyType(
    {
        "00_start": Lab(
            "start", [Exercise("exercise", "exercise-try", "exercise", 1, "exercise(cluster)")]
        ),
        "01_storage": Lab(
            "storage",
            [
                Exercise("compacted-exercise", "compacted-try", "kept", 2),
                Exercise("name-exercise", "name-try", "name", 1),
                Exercise("rolled-exercise", "rolled-try", "rolled", 1, "rolled(cluster)"),
                Exercise("lookup-exercise", "lookup-try", "lookup", 2),
                Exercise("emptied-exercise", "emptied-try", "emptied", 1, "emptied(cluster)"),
                Exercise("recovery-exercise", "recovery-try", "good", 3),
            ],
        ),
        "02_replication": Lab(
            "replication",
            [
                Exercise("exercise-1", "try-1", "high_watermark", 2),
                Exercise("exercise-2", "try-2", "quiet_leaver", 1, "quiet_leaver(cluster, yours)"),
                Exercise("exercise-3", "try-3", "settings", 1),
                Exercise(
                    "exercise-4", "try-4", "another_leader", 1, "another_leader(cluster, mine)"
                ),
                Exercise("exercise-5", "try-5", "leader", 2),
                Exercise("exercise-6", "try-6", "ended", 3),
            ],
        ),
        "05_controller": Lab(
            "controller",
            [
                Exercise("exercise-1", "try-1", "after", 3),
                Exercise("exercise-2", "try-2", "chosen", 2, "chosen(cluster, wanted)"),
                Exercise("exercise-3", "try-3", "fenced", 5),
            ],
        ),
        "06_sending": Lab(
            "sending",
            [
                Exercise("exercise-1", "try-1", "decode", 6),
                Exercise("exercise-2", "try-2", "my_murmur2", 4),
            ],
        ),
        "07_promises": Lab(
            "promises",
            [
                Exercise("acks-exercise", "acks-try", "settings", 2),
                Exercise("guarantee-exercise-1", "guarantee-try-1", "stored_once", 2),
                Exercise("guarantee-exercise-2", "guarantee-try-2", "copied_once", 4),
                Exercise("place-exercise", "place-try", "since", 2),
            ],
        ),
        "08_speed": Lab(
            "speed",
            [
                Exercise("batch-exercise", "batch-try", "batched", 2),
                Exercise("codec-exercise", "codec-try", "codec_of", 1),
                Exercise("codec-least-exercise", "codec-least-try", "fewest", 1),
                Exercise("tail-exercise", "tail-try", "meets", 2),
                Exercise("slow-exercise", "slow-try", "cure", 2),
                Exercise("more-exercise", "more-try", "enough", 2),
            ],
        ),
        "09_operations": Lab(
            "operations",
            [
                Exercise("roll-exercise", "roll-try", "rolled", 1),
                Exercise("move-exercise", "move-try", "moved", 2),
                Exercise("noisy-exercise", "noisy-try", "tame", 1),
                Exercise("who-exercise", "who-try", "locked", 1),
                Exercise("ack-exercise", "ack-exercise-run", "CountTime", 2),
                Exercise("lag-exercise", "lag-exercise-run", "causes", 3),
            ],
        ),
        "10_kraft": Lab(
            "kraft",
            [
                Exercise("exercise-1", "try-1", "up_to_date", 2),
                Exercise("exercise-2", "try-2", "committed", 2),
                Exercise("exercise-3", "exercise-3-try", "resigned", 1, "resigned(mine)"),
                Exercise(
                    "exercise-6", "exercise-6-try", "taken_back", 1, "taken_back(cluster, topic)"
                ),
                Exercise("exercise-4", "try-4", "timeouts", 2),
                Exercise("exercise-5", "exercise-5-try", "disk_lost", 2, "disk_lost(cluster)"),
            ],
        ),
        "03_rebalance": Lab(
            "rebalance",
            [
                Exercise("exercise-1", "exercise-1-try", "answer_1", 1, "team = answer_1(cluster)"),
                Exercise("exercise-2", "exercise-2-try", "answer_2", 1, "answer_2(cluster)"),
                Exercise("exercise-3", "exercise-3-try", "answer_3", 1),
                Exercise("exercise-4", "exercise-4-try", "answer_4", 2),
                Exercise("exercise-5", "exercise-5-try", "answer_5", 3),
                Exercise("exercise-6", "exercise-6-try", "answer_6", 2, "answer_6(cluster)"),
            ],
        ),
        "04_streams": Lab(
            "streams",
            [
                Exercise("exercise-1", "exercise-1-try", "seats", 1, "seats(cluster)"),
                Exercise("exercise-2", "exercise-2-try", "fold", 1),
                Exercise("exercise-3", "exercise-3-try", "changes", 1),
                Exercise("exercise-4", "exercise-4-try", "windows", 2),
                Exercise("exercise-5", "exercise-5-try", "late", 2),
                Exercise("exercise-6", "exercise-6-try", "thirsty", 1),
                Exercise("exercise-7", "exercise-7-try", "publish", 2),
            ],
        ),
    }
)
