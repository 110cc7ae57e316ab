"""Draws the README's moving picture from the recording of the failover.

    cd labs && python -m recorded.picture

    failover.jsonl.gz ── widgets/poster ──> docs/pictures/failover-light.svg and -dark.svg

The same recording makes the same picture, byte for byte.
"""

from pathlib import Path

from engine.model import TopicPartition
from recorded import HERE, RUNS, load
from widgets import palette
from widgets.poster import poster
from widgets.poster.tale import tell

FOLDER = HERE.parents[1] / "docs" / "pictures"
COLOURS = {"light": palette.LIGHT, "dark": palette.DARK}


def drawn() -> dict[Path, str]:
    """The pictures, by where they are kept."""
    run = RUNS["failover"]
    tale = tell(load("failover"), TopicPartition(run.topic, run.partition))
    return {FOLDER / f"failover-{name}.svg": poster(tale, it) for name, it in COLOURS.items()}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, picture in drawn().items():
        path.write_text(picture, encoding="utf-8")
        print(f"{path.relative_to(FOLDER.parents[1])}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
