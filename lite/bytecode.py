"""Runs in Pyodide: compiles what each visit imports, and puts the bytecode beside the sources.

A browser tab has no disk on which Python could keep bytecode, so each visit compiled the same
modules again. Bytecode must be of the browser's own Python: so this very Python makes it.

    NAME.whl             engine/model.py     + engine/__pycache__/model.cpython-314.pyc
    python_stdlib.zip    asyncio/runners.py  + asyncio/runners.pyc, where zipimport looks

Only modules that a start imports: bytecode of the others would be loaded and unpacked for nothing.
Sources stay, for tracebacks and for learners who read them.

Invariant: a module of a wheel that is edited in a tab is compiled again (its hash is checked).
"""

import importlib
import importlib.util
import py_compile
import sys
import zipfile
from collections.abc import Container
from pathlib import Path
from tempfile import TemporaryDirectory

import widgets

# Of the playground, of lab 00, and of a kernel.
STARTS = "widgets.playground.session widgets.playground.cluster_in_tab piplite pyodide_kernel"
FOLDER = Path("/pyodide")  # where pyodide.mjs shows it the archives
STDLIB = "python_stdlib.zip"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same sources make the same bytes
Mode = py_compile.PycInvalidationMode

# Where the modules of an archive are imported from: all wheels are unpacked into one folder.
IN_WHEELS = Path(widgets.__file__).parents[1]
IN_STDLIB = next(Path(path) for path in sys.path if path.endswith(".zip"))


def main() -> None:
    for name in STARTS.split():
        importlib.import_module(name)
    imported = {str(getattr(module, "__file__", None)) for module in [*sys.modules.values()]}
    for archive in [FOLDER / STDLIB, *sorted(FOLDER.glob("*.whl"))]:
        add_to(archive, imported)


def add_to(archive: Path, imported: Container[str]) -> None:
    """Add the bytecode of those sources of an archive that were imported."""
    is_stdlib = archive.name == STDLIB
    folder = IN_STDLIB if is_stdlib else IN_WHEELS
    mode = Mode.UNCHECKED_HASH if is_stdlib else Mode.CHECKED_HASH
    with zipfile.ZipFile(archive, "a") as opened:
        for place in opened.namelist():
            if place.endswith(".py") and str(folder / place) in imported:
                name = f"{place}c" if is_stdlib else importlib.util.cache_from_source(place)
                data = compiled(place, opened.read(place), mode)
                opened.writestr(zipfile.ZipInfo(name, EPOCH), data, zipfile.ZIP_DEFLATED)


def compiled(place: str, source: bytes, mode: Mode) -> bytes:
    with TemporaryDirectory() as folder:
        path, made = Path(folder, "source"), Path(folder, "made")
        path.write_bytes(source)
        py_compile.compile(str(path), str(made), place, doraise=True, invalidation_mode=mode)
        return made.read_bytes()


if __name__ == "__main__":
    main()
