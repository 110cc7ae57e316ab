"""Draws the README's animated picture from the recording of the failover.

    PYTHONPATH=labs python -m docs.site.failover_picture.draw

    failover.jsonl.gz ──> docs/pictures/failover-light.svg and failover-dark.svg

The same recording makes the same picture, byte for byte.
"""

from pathlib import Path

from recorded import RUNS, load

from docs.site.failover_picture import picture
from docs.site.failover_picture.failover import failover_of
from engine.model import TopicPartition
from widgets import palette

FOLDER = Path(__file__).parents[2] / "pictures"
COLOURS = {"light": palette.LIGHT, "dark": palette.DARK}


def drawn() -> dict[Path, str]:
    """The pictures, by where they are kept."""
    run = RUNS["failover"]
    failover = failover_of(load("failover"), TopicPartition(run.topic, run.partition))
    return {FOLDER / f"failover-{name}.svg": picture(failover, it) for name, it in COLOURS.items()}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, svg in drawn().items():
        path.write_text(svg, encoding="utf-8")
        print(f"{path.relative_to(FOLDER.parents[1])}: {len(svg):,} bytes")


if __name__ == "__main__":
    main()
