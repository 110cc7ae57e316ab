"""The wheels that are not in a registry: this repository's two, and kio's declarations.

    brokerlab-0.1.0-py3-none-any.whl             engine/ oracle/ proof/ widgets/
    brokerlab_labs-0.1.0-py3-none-any.whl
        labs/                                    notebooks, their modules, recordings, saved outputs
        ....data/data/etc/ipython/               loads the guide when a kernel starts

    kio-0.6.5-py3-none-any.whl                   all of kio but its module in Rust

    jedi-0.20.1-py2.py3-none-any.whl             as it was, without the stubs of other packages

Completion needs jedi, of whose 5,600 files 4,800 describe packages that are not here. To unpack
them took a third of the time until a kernel was ready.

The engine reads kio's declarations of messages, and nothing else of kio (engine/wire/schema.py). So
the version is the one that is installed, and the messages are the same.

Invariant: the same sources make the same bytes.
"""

import base64
import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from importlib.metadata import distribution
from pathlib import Path, PurePosixPath

from engine import __version__
from lite import sources

EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time that a zip file can name
ANY = "py3-none-any"
SETTINGS = "etc/ipython/ipython_config.py"
KIO, LABS = "kio", "brokerlab_labs"
PYTHON = {".py", ".typed"}
STUBS = ("jedi/third_party/typeshed/stubs/", "jedi/third_party/django-stubs/")


def build(folder: Path, notebooks: Path) -> list[Path]:
    """Write the wheels of this repository. `notebooks`: the labs as a browser tab opens them."""
    settings = f"{LABS}-{__version__}.data/data/{SETTINGS}"
    labs = tree("labs") | {settings: sources.ROOT / "lite" / "ipython_config.py"}
    labs |= {f"labs/{path.name}": path for path in notebooks.glob("*.ipynb")}
    return [
        write(folder, "brokerlab", __version__, tree(*sources.PACKAGES)),
        write(folder, LABS, __version__, labs),
        build_kio(folder),
    ]


def tree(*folders: str) -> dict[str, Path]:
    """The files of these folders, by their path in the repository."""
    found = [path for folder in folders for path in sources.files_below(sources.ROOT / folder)]
    return {path.relative_to(sources.ROOT).as_posix(): path for path in found}


def build_kio(folder: Path) -> Path:
    installed = distribution(KIO)
    found = {
        str(name): Path(str(installed.locate_file(name)))
        for name in installed.files or ()
        if PurePosixPath(name).parts[0] == KIO and name.suffix in PYTHON
    }
    return write(folder, KIO, installed.version, found)


def thin_out(wheel: Path) -> None:
    """Take the stubs of other packages out of jedi's wheel."""
    with zipfile.ZipFile(wheel) as archive:
        kept = {it: archive.read(it) for it in archive.namelist() if not it.startswith(STUBS)}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, data in kept.items():
            archive.writestr(zipfile.ZipInfo(place, EPOCH), data, zipfile.ZIP_DEFLATED)


def write(folder: Path, name: str, version: str, files: Mapping[str, Path]) -> Path:
    """A wheel of these files, by their path in it."""
    wheel = folder / f"{name}-{version}-{ANY}.whl"
    info = f"{name}-{version}.dist-info"
    texts = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {ANY}\n",
    }
    content = {place: path.read_bytes() for place, path in sorted(files.items())}
    content |= {place: text.encode() for place, text in texts.items()}
    content[f"{info}/RECORD"] = record(content.items(), f"{info}/RECORD").encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, data in content.items():
            archive.writestr(zipfile.ZipInfo(place, EPOCH), data, zipfile.ZIP_DEFLATED)
    return wheel


def record(content: Iterable[tuple[str, bytes]], itself: str) -> str:
    """The list of files that a wheel has, each with its hash and its size."""
    lines = []
    for place, data in content:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{place},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{itself},,"]) + "\n"
