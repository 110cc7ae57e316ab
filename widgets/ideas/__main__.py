"""`python -m widgets.ideas docs`: writes the glossary, and the map of ideas with its picture."""

import sys
from pathlib import Path

from widgets.ideas.idea import ideas, lab_places
from widgets.ideas.pages import write

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Where to? python -m widgets.ideas docs")
    write(Path(sys.argv[1]), ideas(), lab_places())
