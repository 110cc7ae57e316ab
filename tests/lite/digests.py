"""The digest of a simulated run: of every state, event and message. It runs here and in Pyodide.

python tests/lite/digests.py '[[7, false], [7, true]]'      seeds, and whether without ZooKeeper
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

from proof.storms.trace import Recipe, Trace

STORM_S = 8  # seconds of a storm, in simulated time


def digest(seed: int, kraft: bool) -> str:
    trace = Trace(Recipe(seed, STORM_S, kraft=kraft))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        trace.save(path)
        drawn = trace.diagram(routine=True).encode()
        return hashlib.sha256(drawn + path.read_bytes()).hexdigest()


def digests(runs: list[tuple[int, bool]]) -> str:
    """A line of JSON."""
    return json.dumps([digest(seed, kraft) for seed, kraft in runs])


if __name__ == "__main__":
    print(digests(json.loads(sys.argv[1])))
