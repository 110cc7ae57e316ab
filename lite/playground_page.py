"""The playground: one page with Python and one picture, without JupyterLab.

    lite/playground/      the page, its worker with Python, and a cache for the next visit
    widgets/static/       stage.js, which draws every picture; the style sheet of all pictures

It loads half of what a notebook needs, and has room on a phone and in a slide.
"""

import hashlib
import shutil
from pathlib import Path

from lite import sources
from widgets import palette
from widgets.site import style

PAGE = sources.ROOT / "lite" / "playground"
ICON = sources.ROOT / "docs" / "site" / "_static" / "favicon.svg"
WORKER = "service-worker.js"


def write(folder: Path, lock: Path) -> None:
    """`lock`: of all wheels; another one makes another cache."""
    shutil.copytree(PAGE, folder)
    shutil.copy(ICON, folder)
    (folder / "stage.js").write_text(palette.script(), encoding="utf-8")
    (folder / "widgets.css").write_text(style.sheet(), encoding="utf-8")
    pages = sorted(path.read_bytes() for path in folder.iterdir())
    version = hashlib.sha256(b"".join([lock.read_bytes(), *pages])).hexdigest()[:12]
    text = (folder / WORKER).read_text(encoding="utf-8")
    (folder / WORKER).write_text(text.replace("@VERSION@", version), encoding="utf-8")
