"""The directive `player`: a view on a recording, in a page.

    ```{player} failover-ClusterView
    :at: 0.5       the first moment, as a share of the run, from 0 to 1
    :moves:        or: it plays by itself, until the reader uses it
    ```

The page has a still; _static/player.js replaces it by the film when it comes into view.
"""

import re
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FILMS = "films"  # beside the pages' sources, and in _static/ of the site
SIZE = re.compile(r'viewBox="0 0 (\S+) (\S+)"[^>]*><title>([^<]*)</title>')
HTML = """<div class="player" data-film="{name}"{more}>
<img src="{up}_static/films/{name}.svg" alt="{alt}" style="aspect-ratio: {shape}">
</div>"""


class Player(SphinxDirective):
    required_arguments = 1
    option_spec: ClassVar = {"at": directives.unchanged, "moves": directives.flag}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        still = Path(self.env.srcdir, FILMS, f"{name}.svg")
        self.env.note_dependency(str(still))
        if not still.exists():
            raise self.error(f"there is no film {name}: there are {_known(still.parent)}")
        found = SIZE.search(still.read_text(encoding="utf-8"))
        assert found, f"{still} is not a picture of widgets/svg.py"
        more = f' data-at="{self.options["at"]}"' if "at" in self.options else ""
        more += " data-moves" if "moves" in self.options else ""
        html = HTML.format(
            name=name,
            more=more,
            up="../" * self.env.docname.count("/"),
            alt=found[3],
            shape=f"{found[1]} / {found[2]}",
        )
        return [nodes.raw("", html, format="html")]


def _known(folder: Path) -> str:
    return ", ".join(sorted(path.stem for path in folder.glob("*.svg"))) or "none"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("player", Player)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
