"""Build the browser edition into build/lite/: python -m lite, which `make lite` calls.

What was downloaded stays in build/lite-work/. As long as its lock is the same, the next build asks
no registry.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lite import contents, lock, playground_page, sources, wheels

PYODIDE_FILES = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"),
    *("python_stdlib.zip", "pyodide-lock.json"),
)
# The Python of this Pyodide, as pip names it.
TAGS = "--platform pyemscripten_2026_0_wasm32 --python-version 3.14 --implementation cp --abi cp314"
EXTENSION = "@jupyterlite/pyodide-kernel-extension"
# The kernel's own wheels: itself, and what it puts in place of packages that need a computer.
KERNEL_WHEELS = ("ipykernel", "piplite", "pyodide_kernel", "widgetsnbextension-4")
APPS = ("lab", "notebooks", "tree")
NOTICE, WORKER = "notice.js", "service-worker.js"
TELLS = f'<script src="../{NOTICE}" data-about="python storage tabs keep"></script>'
OWN_PYODIDE = "./static/pyodide/pyodide.mjs"
MB = 1_000_000


class BuildError(Exception):
    """A step has failed; the words say what to do."""


def main() -> None:
    began = time.monotonic()
    try:
        say("Python for the browser, from npm")
        fetch_pyodide()
        say("Packages for it, from the package registry")
        fetch_wheels()
        say("The labs, and what they link to")
        contents.gather(sources.FILES)
        say("The wheels of this repository, and the list of all wheels")
        names = put_together()
        say("Bytecode of what each visit imports")
        add_bytecode()
        say("JupyterLite around them")
        build_site(names)
        add_own_scripts()
        playground_page.write(sources.SITE / "playground", sources.PYODIDE / lock.FILE)
    except BuildError as error:
        raise SystemExit(f"make lite: {error}") from error
    built = [path for path in sources.SITE.rglob("*") if path.is_file()]
    size, took = sum(path.stat().st_size for path in built) / MB, time.monotonic() - began
    print(f"build/lite/ has {size:.0f} MB in {len(built)} files, after {took:.0f} s. Serve it:")
    print("    python -m http.server -d build/lite        and open http://localhost:8000/")


def say(what: str) -> None:
    print(f"{what} ...", flush=True)


# -- downloads ---------------------------------------------------------------------------------


def fetch_pyodide() -> None:
    """npm checks the hash in package-lock.json."""
    if is_fresh(sources.NODE_MODULES, sources.NPM_LOCKED):
        return
    if shutil.which("npm") is None:
        raise BuildError("npm is missing. On Debian and Ubuntu: sudo apt install npm")
    sources.WORK.mkdir(parents=True, exist_ok=True)
    for path in sources.NPM_LOCKED:
        shutil.copy(path, sources.WORK)
    flags = "--ignore-scripts --no-audit --no-fund --loglevel=error"
    run(["npm", "ci", *flags.split()], "npm could not fetch Pyodide", sources.WORK)
    mark(sources.NODE_MODULES, sources.NPM_LOCKED)


def fetch_wheels() -> None:
    """pip checks the hashes in requirements/browser.txt."""
    if is_fresh(sources.WHEELS, [sources.LOCKED_WHEELS]):
        return
    shutil.rmtree(sources.WHEELS, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q"]
    exact = ["--require-hashes", "--no-deps", "--only-binary=:all:", *TAGS.split()]
    what = ["-d", str(sources.WHEELS), "-r", str(sources.LOCKED_WHEELS)]
    run([*pip, *exact, *what], "pip could not fetch the packages")
    mark(sources.WHEELS, [sources.LOCKED_WHEELS])


def is_fresh(folder: Path, locks: Sequence[Path]) -> bool:
    """Whether these very locks were carried out there."""
    stamp = folder / "done"
    return stamp.exists() and stamp.read_text(encoding="utf-8") == digest(locks)


def mark(folder: Path, locks: Sequence[Path]) -> None:
    (folder / "done").write_text(digest(locks), encoding="utf-8")


def digest(paths: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


# -- the site ----------------------------------------------------------------------------------


def put_together() -> list[str]:
    """Pyodide with all wheels and its lock; returns the names of all packages."""
    shutil.rmtree(sources.LITE_DIR, ignore_errors=True)
    sources.PYODIDE.mkdir(parents=True)
    for name in PYODIDE_FILES:
        shutil.copy(sources.NODE_MODULES / "pyodide" / name, sources.PYODIDE)
    extension = sources.TOOLS / "share" / "jupyter" / "labextensions" / EXTENSION
    found = [*sources.WHEELS.glob("*.whl"), *(extension / "static" / "pypi").glob("*.whl")]
    for wheel in found:
        if wheel.parent == sources.WHEELS or wheel.name.startswith(KERNEL_WHEELS):
            shutil.copy(wheel, sources.PYODIDE)
    wheels.build(sources.PYODIDE, sources.FILES / "labs")
    for wheel in sources.PYODIDE.glob("jedi-*.whl"):
        wheels.thin_out(wheel)
    return lock.write(sources.PYODIDE, sources.PYODIDE.glob("*.whl"))


def add_bytecode() -> None:
    """Add bytecode to the wheels; their hashes change, so the list of them is made anew."""
    program = [sources.ROOT / "lite" / name for name in ("pyodide.mjs", "bytecode.py")]
    run(["node", str(program[0]), str(sources.PYODIDE), str(program[1])], "Pyodide did not compile")
    lock.write(sources.PYODIDE, sources.PYODIDE.glob("*.whl"))


def build_site(names: Sequence[str]) -> None:
    (sources.LITE_DIR / "jupyter-lite.json").write_text(json.dumps(settings(names)), "utf-8")
    shutil.rmtree(sources.SITE, ignore_errors=True)
    for memory in sources.WORK.glob(".jupyterlite.doit*"):  # of what was built, and is gone now
        memory.unlink()
    python = str(sources.TOOLS / "bin" / "python")
    tool = [python, "-m", "jupyterlite_core", "build", "--no-sourcemaps"]
    places = ["--lite-dir", sources.LITE_DIR, "--output-dir", sources.SITE]
    places += ["--contents", sources.FILES]
    apps = [f"--apps={app}" for app in APPS]
    run([*tool, *map(str, places), *apps], "JupyterLite could not be built", sources.WORK)
    if OWN_PYODIDE not in (sources.SITE / "jupyter-lite.json").read_text(encoding="utf-8"):
        raise BuildError("JupyterLite has left out the settings: its kernel would ask another site")


def add_own_scripts() -> None:
    """Each page of JupyterLite says what this browser does not do, and is kept by it."""
    worker = sources.SITE / WORKER
    worker.rename(worker.with_name(f"jupyterlite-{WORKER}"))
    shutil.copy(sources.ROOT / "lite" / WORKER, worker)
    shutil.copy(sources.ROOT / "lite" / NOTICE, sources.SITE)
    for app in APPS:
        page = sources.SITE / app / "index.html"
        text = page.read_text(encoding="utf-8")
        assert "</head>" in text, f"{page} has no head"
        page.write_text(text.replace("</head>", f"{TELLS}</head>", 1), encoding="utf-8")


def settings(names: Sequence[str]) -> dict[str, object]:
    """What JupyterLite is told: no address outside of the site, all packages at the start."""
    kernel = {
        "pyodideUrl": OWN_PYODIDE,
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": list(names)},
    }
    overrides = sources.ROOT / "labs" / ".jupyter" / "overrides.json"
    return {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": "Broker Lab",
            "enableServiceWorkerCache": "true",  # the second visit needs no network
            "exposeAppInBrowser": True,  # for tests
            "faviconUrl": "./lab/favicon.ico",
            "litePluginSettings": {f"{EXTENSION}:kernel": kernel},
            "settingsOverrides": json.loads(overrides.read_text(encoding="utf-8")),
        },
    }


def run(command: Sequence[str], failed: str, where: Path = sources.ROOT) -> None:
    """Run it quietly; if it fails, all that it printed is shown."""
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{failed}.\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
