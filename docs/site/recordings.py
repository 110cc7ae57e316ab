"""The pages of the recordings, one for each run, written from what `recorded.RUNS` tells."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

VIEWS = {
    "ClusterView": (
        "The cluster",
        "Brokers, who leads and who follows, who is believed to be alive, and what happened.",
    ),
    "ReplicaView": (
        "The replicas",
        "How long each log is, and up to where the partition's records are committed.",
    ),
    "GroupView": (
        "The group",
        "Who reads which partitions, in which generation, and when nobody reads at all.",
    ),
    "WireView": (
        "The wire",
        "Who asks whom for what. Go on page by page, or drag along the strip below.",
    ),
    "ZooKeeperTree": (
        "ZooKeeper",
        "What is there, what has just changed, and who was told. It goes from change to change.",
    ),
    "MetadataLogView": (
        "The metadata log",
        "What the controllers write, record by record: what is committed, and what it changes.",
    ),
    "QuorumView": (
        "The quorum",
        "The controllers: who leads, who votes for whom, and how far each one's log is.",
    ),
    "SegmentView": (
        "The log as files",
        "The leader's segments as they were at each moment.",
    ),
    "AccumulatorView": (
        "The producer",
        "Batches of the first copier: how they fill, why they are closed, when they are answered.",
    ),
    "OperatorBoard": (
        "The board",
        "What people on call look at first: replicas that are missing, rates, lag, requests, disk.",
    ),
    "ThrottleGauge": (
        "The quotas",
        "How fast each client writes beside its quota, and how long it is told to wait.",
    ),
    "HexView": (
        "The bytes",
        "Where the newest segment ends, as it grows: point at a byte, and it says what it is for.",
    ),
}

OVERVIEW = """# Recordings

Runs of a real cluster, to be gone through here, without one. Each was recorded from brokers that
did what you see; each picture is drawn from what they told, by the same code as in the lab.

{runs}

Drag the head along the time, or step from mark to mark. By keyboard: Tab to the picture, the
arrows from shape to shape; on the time, left and right step through what happened.

In the lab you can do more with them: open any message and any znode, look up any offset.

```python
from recorded import view

view("failover", "ClusterView")
```

And [in a lab](../labs/README.md) the cluster is yours: there a click on a broker kills it.

```{{toctree}}
:hidden:

{names}
```
"""


def write(folder: Path, runs: Mapping[str, Any]) -> None:
    folder.mkdir()
    told = "\n".join(f"- [**{run.title}**]({name}.md). {run.words}" for name, run in runs.items())
    overview = OVERVIEW.format(runs=told, names="\n".join(runs))
    (folder / "index.md").write_text(overview, encoding="utf-8")
    for name, run in runs.items():
        (folder / f"{name}.md").write_text(_page(name, run), encoding="utf-8")


def _page(name: str, run: Any) -> str:
    parts = [f"# {run.title}", run.words]
    for kind in run.views:
        title, words = VIEWS[kind]
        parts += [f"## {title}", words, f"```{{player}} {name}-{kind}\n:at: 0.5\n```"]
    return "\n\n".join(parts) + "\n"
