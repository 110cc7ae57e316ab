"""The files that JupyterLite opens: the labs, and what they link to.

    labs/*.ipynb                    with a line at the top that says what runs in a browser tab
    lite/00_start.md                the cells of lab 00 that are others there
    docs/, engine/, proof/ ...      as they are: the links of the labs lead there

The modules beside the notebooks stay in the wheel, as `make lab` does not list them either: they
have the answers.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from lite import sources

LINKED = ("docs", "engine", "oracle", "proof", "widgets")
TEXTS = {".ipynb", ".json", ".md", ".py", ".svg", ".txt"}
HIDDEN = {"site", "decisions"}  # of docs/: what makes the site, and records of development
OTHER_CELLS = sources.ROOT / "lite"  # by the name of the lab
CELL = re.compile(r"^<!-- ([\w-]+) -->\n", re.M)
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
SIMULATED = (
    "What is different here: its three brokers are simulated. They are the engine's own code, with "
    "a network and disks in memory. What a session or an election takes is as on a computer, but "
    "not how fast records are."
)
RUNS = {"00_start": SIMULATED, "oracle": ALL_HERE}
RUNS |= dict.fromkeys(("challenges", "02_replication", "10_kraft"), IN_PART)
RUNS |= dict.fromkeys(("03_rebalance", "05_controller", "08_speed", "09_operations"), IN_PART)


def gather(folder: Path) -> None:
    """Copy the labs, and what they link to, into this folder, in place of what is there."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in LINKED:
        for path in sources.files_below(sources.ROOT / name):
            if path.suffix in TEXTS and not HIDDEN & set(path.parts):
                copy(path, folder)
    copy(sources.ROOT / "labs" / "README.md", folder)
    for lab in sorted((sources.ROOT / "labs").glob("*.ipynb")):
        target = folder / "labs" / lab.name
        text = json.dumps(in_a_tab(lab), ensure_ascii=False, indent=1)
        target.write_text(f"{text}\n", encoding="utf-8")


def in_a_tab(lab: Path) -> dict[str, Any]:
    """The notebook of a lab as a browser tab opens it: some cells of lab 00 differ there."""
    book: dict[str, Any] = json.loads(lab.read_text(encoding="utf-8"))
    others = other_cells(lab.stem)
    for cell in book["cells"]:
        if (text := others.pop(cell["id"], None)) is not None:
            cell["source"] = text.splitlines(keepends=True)
    assert not others, f"{lab.name} has no cells {', '.join(others)}"
    announce(book, lab.stem)
    return book


def other_cells(lab: str) -> dict[str, str]:
    """The texts of the cells that differ in a browser tab, by their id."""
    path = OTHER_CELLS / f"{lab}.md"
    if not path.exists():
        return {}
    _, *parts = CELL.split(path.read_text(encoding="utf-8"))
    return {cell: text.strip() for cell, text in zip(parts[::2], parts[1::2], strict=True)}


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
