"""An idea, as ideas.json has it, and the place in a lab that shows it.

    "leader": {
      "abbreviation": "L",                                if it has one
      "words": "The replica of a partition that ...",     one sentence
      "cell": "roles-predict",                            a cell of the section that shows it
      "also": {"what is shown": "another cell"},          more places, if there are any
      "map": {"short": "takes the writes",                on the map, if it is there
              "place": [2, 0],                            its row and column
              "leads": ["offset", "in-sync replica"]}     to its neighbours
    }

A lab may change its name and a section its heading; a cell keeps its id.

Invariant: each cell that is named here is in exactly one lab.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

LABS = Path(__file__).parents[2] / "labs"
IDEAS = Path(__file__).with_name("ideas.json")
HEADING = re.compile(r"^#{1,3} (.*)", re.MULTILINE)


class MapPlace(NamedTuple):
    short: str
    place: tuple[int, int]  # its row and column
    leads: tuple[str, ...]


class Idea(NamedTuple):
    name: str
    words: str
    cell: str
    abbreviation: str  # "" if there is none
    also: Mapping[str, str]  # what is shown: the cell that shows it
    map: MapPlace | None

    @property
    def anchor(self) -> str:
        """The place of the idea on the page of the glossary, which has its name as a heading."""
        return self.name.replace(" ", "-")


class LabPlace(NamedTuple):
    lab: str  # the notebook's name, without .ipynb
    section: str  # the last heading above the cell


@cache
def ideas(file: Path = IDEAS) -> dict[str, Idea]:
    told = json.loads(file.read_text(encoding="utf-8"))
    return {name: _idea(name, facts) for name, facts in told.items()}


def _idea(name: str, facts: dict[str, Any]) -> Idea:
    place = None
    if told := facts.get("map"):
        row, column = told["place"]
        place = MapPlace(told["short"], (row, column), tuple(told["leads"]))
    short, also = facts.get("abbreviation", ""), facts.get("also", {})
    return Idea(name, facts["words"], facts["cell"], short, also, place)


def lab_places(labs: Path = LABS) -> dict[str, LabPlace]:
    """By cell, of the cells that are in one lab only."""
    found: dict[str, LabPlace] = {}
    several = set[str]()
    for path in sorted(labs.glob("*.ipynb")):
        section = ""
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                section = ([section, *HEADING.findall("".join(cell["source"]))])[-1]
            if cell["id"] in found:
                several.add(cell["id"])
            found[cell["id"]] = LabPlace(path.stem, section.strip())
    return {cell: place for cell, place in found.items() if cell not in several}
