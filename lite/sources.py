"""Where the parts of the browser edition lie in this repository, and in build/."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
SITE = BUILD / "lite"  # what is served
TOOLS = BUILD / "lite-tools"  # an environment with JupyterLite, which `make lite` makes
WORK = BUILD / "lite-work"  # what is downloaded and put together
WHEELS = WORK / "wheels"
NODE_MODULES = WORK / "node_modules"
FILES = WORK / "files"  # what JupyterLite opens
LITE_DIR = WORK / "site"  # what `jupyter lite build` is given
PYODIDE = LITE_DIR / "static" / "pyodide"

LOCKED_WHEELS = ROOT / "requirements" / "browser.txt"
NPM_LOCKED = [ROOT / "lite" / name for name in ("package.json", "package-lock.json")]

PACKAGES = ("engine", "oracle", "proof", "widgets")
IGNORED = {"__pycache__", ".ipynb_checkpoints", "yours"}


def files_below(folder: Path) -> list[Path]:
    """Without what Python or JupyterLab has made there."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if not IGNORED & set(path.parts)]
