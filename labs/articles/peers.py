"""The table of message queues in articles.ipynb: figures of other brokers, and a prediction.

    labs/recorded/peers.json      written by `make peers`; docs/peers.md explains each figure
        speed      loads: by load, by peer: one number for each round
        topics     messages a second: by number of topics, by peer: one for each round
        crash      by setting: after each kill -9 how many messages were confirmed, lost, twice
        failover   by setting: seconds without service after each kill, messages lost
        features   by peer, by feature: yes, no, none (the client has nothing for it)

The question has a function beside it that says, from what was recorded, which answer came true.
"""

import json
from pathlib import Path
from statistics import median
from typing import Any

from widgets import Predict

FILE = Path(__file__).resolve().parents[1] / "recorded" / "peers.json"
OWN = Path("..", "build", "bench", "peers.json")  # of `make peers`, from the notebook's folder


def load(file: Path = FILE) -> dict[str, Any]:
    """Of the run that is recorded, or of your own."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def compared(rounds: dict[str, list[float]], name: str, other: str) -> float:
    """One peer's numbers divided by another's, round by round: the ratio in the middle."""
    return median(one / two for one, two in zip(rounds[name], rounds[other], strict=True))


def digits(number: float) -> str:
    """Two of them mean something."""
    return f"{number:.2g}" if number < 100 else f"{number:.0f}"


NONE, SOME, MOST = "None", "Some", "Nearly all"


def lost() -> Predict:
    return Predict(
        "Artemis is killed with SIGKILL while a producer sends, and started again. The producer's "
        "send() returns only when the server has confirmed. Of the messages for which it has "
        "returned, how many are lost?",
        {
            NONE: "The server confirms what is in its journal, and reads that when it starts.",
            SOME: "They would be those that the server confirmed before it wrote them.",
            MOST: "A queue that is not persistent would lose them all.",
        },
        hint="Where is a message when the server confirms it?",
    )


def of_these(count: int, confirmed: int) -> str:
    return NONE if count == 0 else SOME if count < confirmed / 2 else MOST
