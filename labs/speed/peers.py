"""Section 10 of 06_speed: the recorded figures of other brokers, and its predictions.

    labs/recorded/peers.json      written by `make peers`; docs/peers.md explains each figure
        speed      loads: by load, by peer: one number for each round
        topics     messages a second: by number of topics, by peer: one for each round
        crash      by setting: after each kill -9 how many messages were confirmed, lost, twice
        failover   by setting: seconds without service after each kill, messages lost
        features   by peer, by feature: yes, no, none (the client has nothing for it)

Each question has a function beside it that says, from what was recorded, which answer came true.
"""

import json
from math import log
from pathlib import Path
from statistics import median
from typing import Any

from widgets import Predict

FILE = Path(__file__).resolve().parents[1] / "recorded" / "peers.json"
OWN = Path("..", "build", "bench", "peers.json")  # of `make peers`, from the notebook's folder
BAR = 12  # characters of a bar for a factor of ten


def load(file: Path = FILE) -> dict[str, Any]:
    """Of the run that is recorded, or of your own."""
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def beside(rounds: dict[str, list[float]], name: str, other: str) -> tuple[float, float, float]:
    """One peer's numbers divided by another's, round by round: median, least, most."""
    pairs = zip(rounds[name], rounds[other], strict=True)
    shares = sorted(one / two for one, two in pairs)
    return median(shares), shares[0], shares[-1]


def bar(share: float) -> str:
    """On a logarithmic scale, from a hundredth on."""
    return "█" * max(1, round(BAR * (log(share, 10) + 2)))


def digits(number: float) -> str:
    """Two of them mean something."""
    return f"{number:.2g}" if number < 100 else f"{number:.0f}"


LIKE, TENTH, HUNDREDTH = "About as many", "About a tenth", "About a hundredth"


def how_many() -> Predict:
    return Predict(
        "A producer sends messages in batches, another one waits for each message before it sends "
        "the next. RabbitMQ stores each message safely. How many messages a second does it take "
        "from the second producer, compared with the engine?",
        {
            LIKE: "A producer that waits pays for the way there and back, whoever answers.",
            TENTH: "That is what the article says, and it does not say how the messages were sent.",
            HUNDREDTH: "Nobody's server is that slow.",
        },
        hint="What does the time of one message consist of, if nothing else is on its way?",
    )


def as_many(share: float) -> str:
    """`share`: RabbitMQ's rate divided by the engine's."""
    return LIKE if share > 0.32 else TENTH if share > 0.032 else HUNDREDTH


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
