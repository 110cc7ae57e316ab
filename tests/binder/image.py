"""The image, made without Docker: the same steps, in a virtual environment and a home of its own.

    FOLDER/home/             HOME: nothing can be written here once the image is made
    FOLDER/home/brokerlab/   a clean copy of the repository: the work folder
    FOLDER/image/            the environment, which conda makes on Binder: /srv/conda/envs/notebook
    FOLDER/tools/            pytest and nbval, which the image has not
    FOLDER/tmp/  FOLDER/log  for what runs, and what it said

What repo2docker puts into every image (a system, conda, nodejs) is left out, but for its Jupyter
packages: theirs are the versions that ours replace, and everything must get along afterwards.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

from tests.binder.cage import Cage
from tests.binder.dockerfile import ours, render, steps

ROOT = Path(__file__).resolve().parents[2]
REPO2DOCKER = importlib.util.find_spec("repo2docker")
# By their names on conda-forge, and elsewhere.
JUPYTER = {
    "pip": "pip",
    "ipywidgets": "ipywidgets",
    "jupyter_server": "jupyter_server",
    "jupyter-offlinenotebook": "jupyter-offlinenotebook",
    "jupyter-resource-usage": "jupyter-resource-usage",
    "jupyterhub-base": "jupyterhub",
    "jupyterlab": "jupyterlab",
    "notebook": "notebook",
}
TOOLS = ("coverage", "iniconfig", "nbval", "pluggy", "pytest")
LAYER, READY = "layer", "ready"  # files: what our steps have added, and that they are done


class BuildError(Exception):
    """A step that failed; the message ends in what it said last."""


class Image:
    """Where everything is; `build` makes it."""

    def __init__(self, cage: Cage) -> None:
        self.cage = cage
        self.home = cage.make("home")
        self.work = self.home / "brokerlab"
        self.prefix = cage.make("image")
        self.tools = cage.make("tools")
        self.log = cage.folder / "log"
        self.version = (ROOT / "binder/runtime.txt").read_text().strip().removeprefix("python-")
        path = cage.environment["PATH"]
        cage.environment |= {
            "PATH": f"{self.prefix}/bin:{path}",
            "HOME": str(self.home),
            "JUPYTER_RUNTIME_DIR": f"{cage.environment['TMPDIR']}/jupyter",  # HOME is read-only
        }

    def build(self) -> None:
        """As the Dockerfile says. What stands ready already stays."""
        if (self.cage.folder / READY).exists():
            return
        self.copy()
        self.step("a virtual environment", [self.python(), "-m", "venv", str(self.prefix)])
        base = [f"{JUPYTER[name]}=={version}" for name, version in frozen(self.version).items()]
        self.step("what every image has", ["pip", "install", "-q", "--no-cache-dir", *base])
        before = files(self.prefix)
        names = {"NB_USER": "nobody", "KERNEL_PYTHON_PREFIX": str(self.prefix)}
        for step in ours(steps(render(self.work))):
            command = step.named(names)
            self.step(f"RUN {command}", ["sh", "-c", command])
        layer = files(self.prefix).items() - before.items()
        (self.cage.folder / LAYER).write_text("\n".join(str(path) for path, _ in layer))
        self.install_tools()
        (self.cage.folder / READY).touch()

    def copy(self) -> None:
        """What git has or would take: the tree as it stands here, changes included."""
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        told = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, told.stdout.split("\0")):
            if (ROOT / name).is_file():
                (self.work / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.work / name)
        if user := self.cage.user:
            for path in [self.work, *self.work.rglob("*")]:
                os.chown(path, user.pw_uid, user.pw_gid)

    def python(self) -> str:
        """A Python of the image's version, one that whoever works in the cage may run."""
        name = f"python{self.version}"
        asked = f"import ensurepip, venv, sys; assert sys.version.startswith('{self.version}.')"
        for python in (str(Path(sys.executable).resolve()), name, f"/usr/bin/{name}"):
            command = ["sh", "-c", 'exec "$0" -c "$1"', python, asked]
            if self.cage.run(command, self.cage.folder, self.log).code == 0:
                return python
        user = self.cage.user.pw_name if self.cage.user else "you"
        raise BuildError(
            f"there is no {name} that {user} can run, and binder/runtime.txt asks for it"
        )

    def step(self, what: str, command: list[str]) -> None:
        print(f"  {what} ...", end=" ", flush=True)
        start = self.log.stat().st_size if self.log.exists() else 0
        seen = self.cage.run(command, self.work, self.log)
        print(f"{seen.seconds:.0f} s, at most {seen.peak / 2**20:.0f} MB", flush=True)
        if seen.code != 0:
            said = self.log.read_bytes()[start:].decode(errors="replace")
            raise BuildError(f"{what} ended with {seen.code}:\n{said[-4000:]}")

    def install_tools(self) -> None:
        """From the same lock, into a folder beside the image."""
        entries = (ROOT / "requirements" / "all.txt").read_text()
        wanted = [re.search(rf"^{name}==[^#]*", entries, re.M) for name in TOOLS]
        lock = self.cage.folder / "tools.txt"
        lock.write_text("".join(found[0].rstrip() + "\n" for found in wanted if found))
        target = ["--target", str(self.tools), "--no-deps", "--require-hashes"]
        self.step("nbval, beside it", ["pip", "install", "-q", *target, "-r", str(lock)])
        cache = f"{self.cage.environment['TMPDIR']}/pytest"
        (self.tools / "pytest.ini").write_text(f"[pytest]\ncache_dir = {cache}\n")

    def close_home(self) -> None:
        """From now on nothing can be written to HOME but in the work folder."""
        for folder, folders, _ in os.walk(self.home):
            if Path(folder) == self.home:
                folders.remove(self.work.name)
            Path(folder).chmod(0o555)

    def open_home(self) -> None:
        """So that it can be removed."""
        for folder, _, _ in os.walk(self.home):
            Path(folder).chmod(0o755)

    def size(self) -> tuple[int, int]:
        """What our steps add to the image: bytes on disk, and about as many packed in a registry.

        Packing a gigabyte takes minutes, so every sixteenth megabyte stands for the others.
        """
        added = [Path(line) for line in (self.cage.folder / LAYER).read_text().splitlines()]
        added += self.home.rglob("*")
        plain, shares = 0, []
        for path in sorted(path for path in added if path.is_file() and not path.is_symlink()):
            with path.open("rb") as file:
                while content := file.read(2**20):
                    if plain // 2**24 != (plain + len(content)) // 2**24:
                        shares.append(len(zlib.compress(content)) / len(content))
                    plain += len(content)
        return plain, int(plain * sum(shares) / len(shares))


def frozen(version: str) -> dict[str, str]:
    """The Jupyter packages of repo2docker's environment for a Python, with their versions."""
    assert REPO2DOCKER and REPO2DOCKER.origin
    folder = Path(REPO2DOCKER.origin).parent / "buildpacks" / "conda"
    text = (folder / f"environment.py-{version}-linux-64.lock").read_text()
    return dict(re.findall(rf"/({'|'.join(JUPYTER)})-([\d.]+)-[^/]*\.conda#", text))


def files(folder: Path) -> dict[Path, tuple[int, int]]:
    """Each file with its size and when it was written."""
    found = {path: path.lstat() for path in folder.rglob("*") if not path.is_dir()}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}
