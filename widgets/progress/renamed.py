"""Where the tasks of a lab are that has another name now: marks under the old name are kept.

    "05_delivery": {"order-predict": A, "acks-predict": B}
        ──> "06_sending": {"order-predict": A}, "07_promises": {"acks-predict": B}

A cell keeps its id when its lab is renamed or divided. A mark that stands under both names is
treated as if the lab had always had the new one: an exercise was solved when it was solved first,
a prediction is the last one.

Invariant: each mark that stood under an old name stands under a new one.
"""

from collections.abc import Mapping
from typing import Any

NEW_NAMES = {
    "05_delivery": "07_promises",
    "06_speed": "08_speed",
    "07_operations": "09_operations",
    "08_controller": "05_controller",
}
ELSEWHERE: Mapping[str, Mapping[str, str]] = {  # by old name, the cells that went to another lab
    "05_delivery": dict.fromkeys(
        (
            "socket-predict",
            "bytes-predict",
            "exercise-1",
            "partition-predict",
            "exercise-2",
            "order-predict",
            "buffer-predict",
        ),
        "06_sending",
    ),
    "06_speed": dict.fromkeys(("figures-predict", "peers-crash-predict"), "articles"),
    "07_operations": dict.fromkeys(("books-predict", "release-predict"), "articles"),
}


def carry_over(labs: dict[str, Any]) -> None:
    """`labs`: by lab, the marks of its cells, as the file has them."""
    for old in NEW_NAMES.keys() & labs.keys():
        for cell, mark in labs.pop(old).items():
            new = ELSEWHERE.get(old, {}).get(cell, NEW_NAMES[old])
            marks = labs.setdefault(new, {})
            if "solved" in mark or cell not in marks:
                marks[cell] = mark
