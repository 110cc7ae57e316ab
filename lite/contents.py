"""The files that JupyterLite opens: the labs, and what they link to.

    labs/*.ipynb                    with a line at the top that says what runs in a browser tab
    docs/, engine/, proof/ ...      as they are: the links of the labs lead there

The modules beside the notebooks stay in the wheel, as `make lab` does not list them either: they
have the answers.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from lite import sources

LINKED = ("docs", "engine", "oracle", "proof", "widgets")
TEXTS = {".ipynb", ".json", ".md", ".py", ".svg", ".txt"}
HIDDEN = {"site", "decisions"}  # of docs/: what makes the site, and records of development
KERNEL = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}

ALL_HERE = "Everything in it runs here."
IN_PART = (
    "What stands *in simulated time* runs here, on the engine's own code. A cell that needs broker "
    "processes, ZooKeeper or Spark says so, and shows what it showed on a computer."
)
NOTHING = (
    "It needs broker processes, ZooKeeper or Spark, so nearly all of its cells show what they "
    "showed on a computer."
)
RUNS = {"oracle": ALL_HERE, "challenges": IN_PART, "02_replication": IN_PART, "10_kraft": IN_PART}
RUNS |= dict.fromkeys(("03_rebalance", "05_controller", "08_speed", "09_operations"), IN_PART)


def gather(folder: Path) -> None:
    """Copy all of them into this folder, which must not exist."""
    for name in LINKED:
        for path in sources.files_below(sources.ROOT / name):
            if path.suffix in TEXTS and not HIDDEN & set(path.parts):
                copy(path, folder)
    copy(sources.ROOT / "labs" / "README.md", folder)
    for lab in sorted((sources.ROOT / "labs").glob("*.ipynb")):
        target = copy(lab, folder)
        book = json.loads(target.read_text(encoding="utf-8"))
        announce(book, lab.stem)
        target.write_text(json.dumps(book, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def copy(path: Path, folder: Path) -> Path:
    target = folder / path.relative_to(sources.ROOT)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
    return target


def announce(book: dict[str, Any], lab: str) -> None:
    """Put the line below the title, and name the kernel that the browser has."""
    words = (
        f"> **This lab is open in your browser, with nothing installed.** {RUNS.get(lab, NOTHING)}"
    )
    line = {"cell_type": "markdown", "id": "in-a-browser", "metadata": {}, "source": [words]}
    book["cells"].insert(1, line)
    book["metadata"]["kernelspec"] = KERNEL
