"""What a lab's page shows in the place of its live pictures: recordings to play, and stills; and on
the card of a verdict, what it rests on.

A picture whose story a recording tells too is replaced by the player of that recording. The others
stay as they were saved, since the text beside them is about their own bytes and names.
"""

import json
from pathlib import Path
from typing import Any

from widgets.ledger.basis import with_basis
from widgets.ledger.claims import load
from widgets.ledger.ledger import MIME

NOTE = (
    "*This page shows what an earlier run of the notebook gave. Its pictures are stills, or play "
    "[a recording](../recordings/index.md) of the same story; after `make lab` they are yours to "
    "click.*"
)
PLAYED = {  # in place of the picture of a cell, by the cell's id
    "00_start": {"film": "failover-ClusterView", "cost": "failover-ClusterView"},
    "01_storage": {},
    "02_replication": {"cluster": "failover-ClusterView", "isr-view": "failover-ReplicaView"},
    "03_rebalance": {"sharing-view": "storm-GroupView"},
    "04_streams": {},
    "06_sending": {},
    "07_promises": {"guarantee-log": "transactions-SegmentView"},
    "08_speed": {},
    "articles": {},
    "09_operations": {"noisy-gauge": "oncall-ThrottleGauge"},
    "05_controller": {"view": "failover-ClusterView", "failover-after": "failover-ZooKeeperTree"},
}
CLAIMS = load()
PICTURES = {"image/png", "image/svg+xml"}  # as tests/labs/pictures.py and JupyterLab save them
PLAYER = """```{{player}} {film}
:at: 0.5
```
*From [a recording](../recordings/{run}.md): another run than this page's, with the same story.*
"""


def explain(path: Path) -> None:
    """Put the note below a notebook's title, and players in place of stills."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    title = notebook["cells"][0]
    assert title["cell_type"] == "markdown", f"{path.name} begins with its title"
    first, _, rest = "".join(title["source"]).partition("\n")
    title["source"] = f"{first}\n\n{NOTE}\n{rest}"
    films = PLAYED[path.stem]
    missing = films.keys() - {cell["id"] for cell in notebook["cells"]}
    assert not missing, f"{path.name} has no cells {missing}: tell {__file__}"
    for cell in notebook["cells"]:
        _tell_basis(cell)
    notebook["cells"] = [
        shown for cell in notebook["cells"] for shown in played(cell, films.get(cell["id"], ""))
    ]
    path.write_text(json.dumps(notebook), encoding="utf-8")


def _tell_basis(cell: dict[str, Any]) -> None:
    """A card is saved without the line that says what the claim rests on."""
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        if MIME in data:
            data["text/html"] = with_basis("".join(data["text/html"]), CLAIMS)


def played(cell: dict[str, Any], film: str) -> list[dict[str, Any]]:
    """The cell; if there is a film, without its pictures and with a player below it."""
    if not film:
        return [cell]
    stills = [it for it in cell["outputs"] if PICTURES & it.get("data", {}).keys()]
    kept = [it for it in cell["outputs"] if it not in stills]
    source = PLAYER.format(film=film, run=film.partition("-")[0])
    below = {"cell_type": "markdown", "id": f"{cell['id']}-film", "metadata": {}, "source": source}
    return [cell | {"outputs": kept}, below]
