"""`python -m widgets.diagram docs/diagrams`: draws every picture, and the page with all of them."""

import sys
from pathlib import Path

from widgets.diagram.page import files

ROOT = Path(__file__).resolve().parents[2]


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    made = files(ROOT / "pyproject.toml")
    for old in {*folder.glob("*.svg")} - {folder / name for name in made}:
        old.unlink()
    for name, content in made.items():
        (folder / name).write_text(content, encoding="utf-8")
    print(f"{len(made)} files in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Where to? python -m widgets.diagram docs/diagrams")
    main(Path(sys.argv[1]))
