"""Every picture, and the page that shows them, which has their content also as text.

layers.svg   client-link.svg   controller-partitions.svg ...   README.md
"""

from collections.abc import Iterator
from pathlib import Path

import engine
from widgets.diagram import drawing, layers
from widgets.diagram.machine import Machine, machines

HEAD = """\
# Diagrams

Drawn from the code by `make docs`: change a table there, and run it again. A state machine reads
from above, where it begins; its way back is on the left, in blue. A dashed arrow is what may happen
in any state.

## Layers

The order in which the engine may import, as `make check` holds it. What is beside each other knows
nothing of each other (`|`), or one of the other at most (`:`).

![The layers of the engine](layers.svg)
"""


def files(pyproject: Path) -> dict[str, str]:
    """Names, and what is in them."""
    found = machines(engine)
    made = {f"{machine.name}.svg": _svg(drawing.draw(machine).svg()) for machine in found}
    made["layers.svg"] = _svg(layers.draw(pyproject).svg())
    made["README.md"] = "\n".join([HEAD, *("\n".join(_section(each)) for each in found)])
    return made


def _svg(drawn: str) -> str:
    return drawing.slim(drawn).replace("><", ">\n<") + "\n"


def _section(machine: Machine) -> Iterator[str]:
    yield f"## {machine.title}\n"
    yield f"`{machine.table}` in [{machine.source}](../../{machine.source})\n"
    yield f"![{machine.title}]({machine.name}.svg)\n"
    yield "| state | what it means | leads to |"
    yield "|---|---|---|"
    for name in machine.names:
        onwards = [
            f"{target} ({', '.join(words)})" if any(words) else target
            for (source, target), words in machine.arrows.items()
            if source == name
        ]
        yield f"| {name} | {machine.meanings.get(name, '')} | {', '.join(onwards)} |"
    for each in machine.anywhere:
        heard = f" ({', '.join(each.words)})" if any(each.words) else ""
        yield f"| *{each.origin}* | | {each.target}{heard} |"
    yield ""
