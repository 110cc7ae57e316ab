"""The playground: one page with Python and one picture, without JupyterLab.

    lite/playground/      the page, its worker with Python, and a cache for the next visit
    widgets/static/       stage.js, which draws every picture; the style sheet of all pictures

It loads half of what a notebook needs, and has room on a phone and in a slide.
"""

import hashlib
import json
import re
import shutil
from pathlib import Path

from lite import sources
from widgets import palette
from widgets.site import style

PAGE = sources.ROOT / "lite" / "playground"
ICON = sources.ROOT / "docs" / "site" / "_static" / "favicon.svg"
CACHE, PYTHON = "service-worker.js", "worker.js"
LEFT_OUT = re.compile(r"LEFT_OUT = /(.*)/;")  # in the worker: packages that it does not load


def write(folder: Path, lock: Path) -> None:
    """`lock`: of all wheels; another one makes another cache."""
    shutil.copytree(PAGE, folder)
    shutil.copy(ICON, folder)
    (folder / "stage.js").write_text(palette.script(), encoding="utf-8")
    (folder / "widgets.css").write_text(style.sheet(), encoding="utf-8")
    put(folder / PYTHON, "BYTES", str(size(lock, (folder / PYTHON).read_text(encoding="utf-8"))))
    pages = sorted(path.read_bytes() for path in folder.iterdir())
    version = hashlib.sha256(b"".join([lock.read_bytes(), *pages])).hexdigest()[:12]
    put(folder / CACHE, "VERSION", version)


def put(path: Path, name: str, value: str) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"@{name}@", value), encoding="utf-8")


def size(lock: Path, worker: str) -> int:
    """Bytes of what the worker fetches: Python, the lock, and the wheels that it does not leave
    out."""
    found = LEFT_OUT.search(worker)
    assert found, "the worker names no packages that it leaves out"
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    wheels = [it["file_name"] for name, it in packages.items() if not re.search(found[1], name)]
    names = ["pyodide.asm.wasm", "python_stdlib.zip", lock.name, lock.name, *wheels]
    return sum((lock.parent / name).stat().st_size for name in names)
