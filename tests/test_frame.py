"""The frame around the code: layers that hold, a lock that is whole, commands that exist."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = PYPROJECT["tool"]["importlinter"]["contracts"]
PACKAGES = [
    *("wire", "storage", "replication", "controller", "coordinator", "client", "assignors"),
    *("broker", "cluster", "sim", "cli", "zookeeper", "metadata", "raft", "quorum_server"),
    "quorum_controller",
]

# Who imports what, and what the layer check then says is broken.
OFFENCES = [
    ("engine.storage.planted", "engine.broker", "imports point down"),
    ("engine.wire.planted", "engine.storage", "imports point down"),
    ("engine.model", "engine.wire", "imports point down"),
    ("engine.config", "engine.storage", "imports point down"),
    ("engine.config", "engine.wire", "imports point down"),
    ("engine.errors", "engine.config", "imports point down"),
    ("engine.broker.planted", "engine.client", "imports point down"),
    ("engine.client.planted", "engine.broker", "imports point down"),
    ("engine.controller.planted", "engine.coordinator", "imports point down"),
    ("engine.replication.planted", "engine.controller", "imports point down"),
    ("engine.coordinator.planted", "engine.client", "imports point down"),
    ("engine.broker.planted", "engine.cluster", "imports point down"),
    ("engine.cluster.planted", "engine.__main__", "imports point down"),
    ("engine.unheard_of", "engine.model", "imports point down"),
    ("engine.storage.log", "engine.storage.planted", "no package imports in a circle"),
    ("engine.broker.planted", "proof", "what shows, proves or streams"),
    ("engine.cli.planted", "sparkstreams", "what shows, proves or streams"),
    ("proof", "sparkstreams", "what shows, proves or streams"),
    ("sparkstreams", "widgets", "what shows, proves or streams"),
    ("engine.cluster.planted", "widgets", "the engine knows nothing of the lab around it"),
    ("engine.cli.planted", "labs", "the engine knows nothing of the lab around it"),
    ("engine.storage.planted", "asyncio", "storage knows files, not sockets"),
    ("engine.storage.planted", "socket", "storage knows files, not sockets"),
    ("engine.wire.planted", "kazoo.client", "storage knows files, not sockets"),
    ("engine.coordinator.planted", "time", "what decides has no socket"),
    ("engine.controller.planted", "random", "what decides has no socket"),
    ("engine.replication.planted", "threading", "what decides has no socket"),
    ("engine.raft.planted", "random", "what decides has no socket"),
    ("engine.raft.planted", "engine.controller", "imports point down"),
    ("engine.raft.planted", "engine.quorum_server", "imports point down"),
    ("engine.quorum_controller.planted", "engine.broker", "imports point down"),
    ("engine.quorum_controller.planted", "random", "what decides has no socket"),
    ("engine.quorum_controller.planted", "engine.storage.log", "coordinators and the controller"),
    ("engine.model", "asyncio", "what decides has no socket"),
    ("engine.coordinator.planted", "engine.storage.log", "coordinators and the controller return"),
    ("engine.assignors.planted", "random", "an assignor is a pure function"),
    ("engine.broker.planted", "engine.zookeeper", "only ZooKeeper mode"),
    ("engine.cluster.planted", "kazoo.client", "only ZooKeeper mode"),
    ("engine.cli.planted", "engine.controller", "a controller in a broker"),
]
FINE = [
    ("engine.coordinator.planted", "engine.assignors"),
    ("engine.broker.planted", "engine.coordinator"),
    ("engine.broker.planted", "asyncio"),
    ("engine.cli.planted", "engine.cluster"),
    ("engine.replication.planted", "engine.storage.log"),
    ("engine.storage.planted", "engine.config"),
    ("widgets", "engine"),
    ("widgets", "proof"),
    ("engine.cli.chaos", "proof.chaos"),
    ("engine.cli.simulate", "proof.chaos"),
    ("engine.controller.planted", "engine.zookeeper"),
    ("engine.broker.zookeeper.planted", "engine.controller"),
]


def write(root: Path, module: str, code: str) -> None:
    path = root.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    path.write_text(path.read_text() + code if path.exists() else code)


@pytest.fixture
def whole_engine(tmp_path: Path) -> Path:
    """An empty engine that has all its layers already, under this repository's own rules."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    allowed = {name for each in CONTRACTS for name in each.get("allowed_importers", ())}
    beside = ["widgets", "oracle", "proof", "sparkstreams"]
    for package in [*beside, "engine", *(f"engine.{name}" for name in PACKAGES), *allowed]:
        folder = tmp_path.joinpath(*package.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        for each in [folder, *folder.parents[: package.count(".")]]:
            (each / "__init__.py").touch()
    for package in PACKAGES:
        write(tmp_path, f"engine.{package}.planted", "")
    for module in ["__main__", "config", "model", "errors", "storage.log"]:
        write(tmp_path, f"engine.{module}", "")
    write(tmp_path, "proof.chaos", "")
    write(
        tmp_path,
        "engine.storage.planted",
        "import engine.storage.log\nimport engine.wire.planted\n",
    )
    write(tmp_path, "engine.wire.planted", "import engine.model\n")
    write(tmp_path, "engine.zookeeper.planted", "import kazoo.client\n")
    for package in ["controller", "coordinator", "raft", "replication"]:
        write(tmp_path, f"engine.{package}.planted", "import engine.model\n")
    return tmp_path


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"]
    return subprocess.run(
        command, cwd=root, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(("importer", "imported", "contract"), OFFENCES)
def test_a_planted_import_breaks_its_contract(
    importer: str, imported: str, contract: str, whole_engine: Path
) -> None:
    write(whole_engine, importer, f"import {imported}\n")
    result = lint_imports(whole_engine)
    assert result.returncode == 1, result.stdout + result.stderr
    assert re.search(rf"^{contract}.* BROKEN$", result.stdout, re.M), result.stdout
    told = result.stdout.partition("Broken contracts")[2].partition(contract)[2]
    assert importer.rpartition(".")[2] in told


def test_imports_that_point_down_are_fine(whole_engine: Path) -> None:
    for importer, imported in FINE:
        write(whole_engine, importer, f"import {imported}\n")
    result = lint_imports(whole_engine)
    assert result.returncode == 0, result.stdout + result.stderr


def test_this_engine_imports_downwards() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("name", ["build", "all"])
def test_the_lock_is_pinned_hashed_and_says_nothing_of_where_it_was_made(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    entries = re.split(r"\n(?=\S)", re.sub(r"^\s*#.*\n", "", text, flags=re.M).strip())
    assert len(entries) >= 2
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==\S+( ;[^\n]+)? \\\n    --hash=sha256:[0-9a-f]{64}", entry), (
            entry
        )
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash=)", text, re.M)


def test_every_dependency_is_locked() -> None:
    project, groups = PYPROJECT["project"], PYPROJECT["dependency-groups"]
    wanted = project["dependencies"] + groups["dev"] + groups["build"]
    wanted += [name for extra in project["optional-dependencies"].values() for name in extra]
    locks = "".join(path.read_text() for path in (ROOT / "requirements").glob("*.txt"))
    locked = set(re.findall(r"^([a-z0-9-]+)==", locks, re.M))
    assert {re.split(r"[^a-z0-9-]", name)[0] for name in wanted} <= locked


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_a_page_names_only_commands_that_exist(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z]+):", makefile, re.M))
    named = set(re.findall(r"^    make ([a-z]+)|`make ([a-z]+)", (ROOT / page).read_text(), re.M))
    names = {indented or quoted for indented, quoted in named}
    assert {"test"} <= names <= targets
