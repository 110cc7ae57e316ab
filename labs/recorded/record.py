"""Makes the recordings anew: a real cluster each, half a minute long, and one of Apache Kafka.

    cd labs && python -m recorded.record                   all of them
    cd labs && python -m recorded.record failover storm    these

The migration takes two minutes, and Kafka's jars: `make real` gets them.

The file of before is replaced only once the new one is whole.
"""

import gzip
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from recorded import RUNS, path


def record(name: str) -> Path:
    """Play the run, and keep it."""
    kept = path(name)
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / "run.jsonl"
        import_module(f"recorded.{name}").play(draft)
        # Without a name and a time in its head the file is the same wherever it was packed.
        kept.write_bytes(gzip.compress(draft.read_bytes(), mtime=0))
    return kept


def main(names: list[str]) -> None:
    for name in names or RUNS:
        kept = record(name)
        print(f"{name}: {kept.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
