"""The list of wheels by which Pyodide finds a package: pyodide-lock.json, with our wheels only.

Pyodide's own lock names 357 packages on a server of their own, and a kernel that misses one asks
there. This lock names the wheels beside it, each with its hash: nothing else can be loaded.

Invariant: Pyodide checks the hash of each wheel before it unpacks it.
"""

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable
from email import message_from_string
from pathlib import Path
from typing import Any

FILE = "pyodide-lock.json"


def normal(name: str) -> str:
    """A package's name as indexes write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def entry(wheel: Path) -> tuple[str, dict[str, Any]]:
    """Its name, and what the lock says of it."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (it for it in names if re.fullmatch(r"[^/]+\.dist-info/METADATA", it))
        facts = message_from_string(archive.read(metadata).decode())
    tops = {it.split("/")[0].removesuffix(".py") for it in names if it.endswith((".py", ".so"))}
    return normal(facts["Name"]), {
        "name": normal(facts["Name"]),
        "version": facts["Version"],
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": sorted(it for it in tops if it.isidentifier()),
        "depends": [],  # the pages name all that they load
        "unvendored_tests": False,
    }


def write(folder: Path, wheels: Iterable[Path]) -> list[str]:
    """Replace the lock in Pyodide's folder by one of these wheels; returns their names."""
    path = folder / FILE
    lock = json.loads(path.read_text(encoding="utf-8"))
    lock["packages"] = dict(sorted(map(entry, wheels)))
    path.write_text(json.dumps(lock, indent=1) + "\n", encoding="utf-8")
    return list(lock["packages"])
