"""What a lab's page shows: questions and situations at once, and behind a click what came out.

    a situation        a picture that opens a section, or a question: it is seen
    What came out      all other outputs, folded; a verdict's card says what the claim rests on
    Play a recording   below a picture whose story a recording tells too; folded

A folded picture is replaced by the recording. The others stay as they were saved, since the text
beside them is about their own bytes and names.
"""

import json
from pathlib import Path
from typing import Any

from widgets.ledger.basis import with_basis
from widgets.ledger.claims import load
from widgets.ledger.ledger import MIME
from widgets.saved import tells_no_outcome, with_outputs

NOTE = (
    "*Answer each question before you read on. **What came out** opens what an earlier run of the "
    "notebook gave. Its pictures are stills, or play [a recording](../recordings/index.md) of the "
    "same story; after `make lab` they are yours to click.*"
)
FOLD = "What came out"
FOLDED = "What decides it, and what came out"  # of a cell whose source is folded too
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
    "challenges": {},
    "oracle": {},
    "09_operations": {"noisy-gauge": "oncall-ThrottleGauge"},
    "10_kraft": {},
    "05_controller": {"view": "failover-ClusterView", "failover-after": "failover-ZooKeeperTree"},
}
CLAIMS = load()
PICTURES = {"image/png", "image/svg+xml"}  # as tests/labs/pictures.py and JupyterLab save them
PLAYER = """<details class="film"><summary>{summary}</summary>

```{{player}} {film}
:at: 0.5
```
*From [a recording](../recordings/{run}.md): another run than this page's, with the same story.*

</details>
"""


def explain(source: Path, target: Path) -> None:
    """The page of a notebook: a note below its title, folds, and players in place of stills."""
    notebook = with_outputs(source)
    title = notebook["cells"][0]
    assert title["cell_type"] == "markdown", f"{source.name} begins with its title"
    first, _, rest = "".join(title["source"]).partition("\n")
    title["source"] = f"{first}\n\n{NOTE}\n{rest}"
    films = PLAYED[source.stem]
    missing = films.keys() - {cell["id"] for cell in notebook["cells"]}
    assert not missing, f"{source.name} has no cells {missing}: tell {__file__}"
    for cell in notebook["cells"]:
        _tell_basis(cell)
    notebook["cells"] = [
        shown for cell in notebook["cells"] for shown in played(cell, films.get(cell["id"], ""))
    ]
    for cell in notebook["cells"]:
        if cell.get("outputs") and not tells_no_outcome(cell):
            _fold(cell)
    target.write_text(json.dumps(notebook), encoding="utf-8")


def _fold(cell: dict[str, Any]) -> None:
    """In myst-nb's words. A cell whose source is hidden too has one fold for both."""
    tags = cell["metadata"].setdefault("tags", [])
    both = "hide-input" in tags
    words = FOLDED if both else FOLD
    tags.append("hide-cell" if both else "hide-output")
    cell["metadata"]["mystnb"] = {"code_prompt_show": words, "code_prompt_hide": words}


def _tell_basis(cell: dict[str, Any]) -> None:
    """A card is saved without the line that says what the claim rests on."""
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        if MIME in data:
            data["text/html"] = with_basis("".join(data["text/html"]), CLAIMS)


def played(cell: dict[str, Any], film: str) -> list[dict[str, Any]]:
    """The cell, and below it the player of its film. A picture that may be seen stays."""
    if not film:
        return [cell]
    opening = tells_no_outcome(cell)
    kept = [it for it in cell["outputs"] if opening or not PICTURES & it.get("data", {}).keys()]
    summary = "Play a recording of it" if opening else FOLD
    source = PLAYER.format(summary=summary, film=film, run=film.partition("-")[0])
    below = {"cell_type": "markdown", "id": f"{cell['id']}-film", "metadata": {}, "source": source}
    return [cell | {"outputs": kept}, below]
