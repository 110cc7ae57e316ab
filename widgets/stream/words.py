"""Short names for the parts of a query, instead of Spark's, and one sentence for a failure.

RateStreamV2[rowsPerSecond=50]                              rate
org...python.PythonMicroBatchStream@31f9f122                a Python source
stateStoreSave                                              aggregate
[STREAM_FAILED] Query [id = ...] ... Traceback ...          FileNotFoundError: no such file
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

OPERATORS: Mapping[str, tuple[str, str]] = {  # by the beginning of Spark's name: ours, what it does
    "stateStoreSave": ("aggregate", "one result a key"),
    "sessionWindowStateStoreSave": ("session windows", "one result a session"),
    "symmetricHashJoin": ("join", "both sides wait for a match"),
    "dedupe": ("drop duplicates", "each key once"),
    "flatMapGroupsWithState": ("own state", "your function, key by key"),
    "applyInPandasWithState": ("own state", "your function, key by key"),
    "transformWithState": ("own state", "your processor, key by key"),
    "globalLimit": ("limit", "only the first rows"),
}
STATELESS = ("map, filter", "each row by itself, no state")
PARTS: Mapping[str, tuple[str, str]] = {  # of a batch, in order: a word, and what Spark does in it
    "latestOffset": ("offsets", "asks the source how far it goes"),
    "getBatch": ("get", "asks the source for the batch"),
    "walCommit": ("note", "writes into the checkpoint which offsets it will read"),
    "queryPlanning": ("plan", "plans the batch"),
    "addBatch": ("run", "reads, computes, keeps state, writes"),
    "commitOffsets": ("done", "writes into the checkpoint that the batch is done"),
    "commitBatch": ("done", "writes into the checkpoint that the batch is done"),
}
STATUS: Mapping[str, str] = {  # by the beginning of Spark's words
    "Initializing": "starts",
    "Getting offsets": "waits for data",
    "Waiting for data": "waits for data",
    "Waiting for next trigger": "waits for its turn",
    "Processing": "works",
    "No new data but": "works",
}
WHOLE, REST = "triggerExecution", "rest"
NOISE = re.compile(
    r"\s*SQLSTATE: \w+|^\[[A-Z_.0-9]+\]\s*|^Query \[.*?\] terminated with exception: "
)
RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*): (.+)")
LONGEST = 300  # characters of a sentence


def status(message: str) -> str:
    """The status of a query, without changes many times a second."""
    known = (words for start, words in STATUS.items() if message.startswith(start))
    return next(known, message.partition(" from ")[0].lower())


def source(description: str, offsets: object) -> str:
    """The topics, if the offsets are a Kafka source's; else the source's own name."""
    if topics := topics_of(offsets):
        return ", ".join(sorted(topics))
    return plain(description, "source")


def topics_of(offsets: object) -> dict[str, dict[str, int]]:
    """{"orders": {"0": 17}}, or nothing if these are other offsets."""
    if not isinstance(offsets, dict):
        return {}
    shares = [share for share in offsets.values() if isinstance(share, dict)]
    whole = all(isinstance(it, int) for share in shares for it in share.values())
    return offsets if len(shares) == len(offsets) and whole else {}


def plain(description: str, kind: str) -> str:
    """A name from the name of a Java class."""
    name = re.split(r"[\[@($]", description, maxsplit=1)[0].rpartition(".")[2]
    if not name or name.startswith("Python"):
        return f"a Python {kind}"
    name = re.sub(r"(Streaming)?(Stream|Table|Sink|Source)?(V\d)?(Provider)?$", "", name) or name
    return name[:1].lower() + name[1:]


def operator(name: str) -> tuple[str, str]:
    known = (words for start, words in OPERATORS.items() if name.startswith(start))
    return next(known, (name, "keeps state"))


def sentence(failure: str) -> str:
    """The first sentence of the original error, without Spark's text around it."""
    told = failure.partition("=== Streaming Query ===")[0]
    if "Traceback (most recent call last)" in told:
        told = _raised(told.partition("During handling of the above exception")[0])
    while (shorter := NOISE.sub("", told).strip()) != told:
        told = shorter
    line = next((line for line in told.splitlines() if line.strip()), "Spark doesn't say why.")
    first = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]
    return first if len(first) <= LONGEST else first[: LONGEST - 1] + "…"


def _raised(traceback: str) -> str:
    """The last line that names an exception, without the module that it comes from."""
    found = [it for it in map(RAISED.match, traceback.splitlines()) if it]
    return f"{found[-1][1]}: {found[-1][2]}" if found else traceback


# -- numbers -----------------------------------------------------------------------------------


def amount(rows: float) -> str:
    """1,234 or 2.4 M."""
    if rows >= 1e9:
        return f"{rows / 1e9:.1f} G"
    return f"{rows / 1e6:.1f} M" if rows >= 1e6 else f"{rows:,.0f}"


def rate(rows: float) -> str:
    """Rows a second: 52, or 0.6."""
    return f"{rows:.1f}" if 0 < rows < 9.95 else amount(rows)


def many(count: int, what: str) -> str:
    return f"{amount(count)} {what}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB"


def seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.2f} s"


def clocks(times: Sequence[int]) -> list[str]:
    """Times in ms since 1970 as text, with the day if they are of several days."""
    dates = [datetime.fromtimestamp(at / 1000, UTC) for at in times]
    form = "%H:%M:%S" if len({date.date() for date in dates}) < 2 else "%d %b %H:%M:%S"
    return [date.strftime(form) for date in dates]
