"""The cage holds what it promises, and sees what happens in it."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil  # type: ignore[import-untyped]
import pytest

from tests.binder import cage as caging
from tests.binder.cage import Cage, Seen, main_class
from tests.binder.group import VERSIONS, Files, Group
from tests.binder.image import JUPYTER, Image, frozen
from tests.binder.rehearsal import verdict

MB = 2**20
WAIT = "while [ -e ../log ] && [ ! -e seen ]; do sleep 0.05; done"  # or until the test is over
FINE = Seen(0, 60.0, 500 * MB, frozenset({"ZooKeeperServerMain"}), 0, 0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not pytest's own, into which nobody else may look."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def cage(folder: Path) -> Iterator[Cage]:
    cage = Cage(folder)
    yield cage
    cage.close()


@pytest.fixture
def run(cage: Cage) -> Callable[..., Seen]:
    work, log = cage.make("work"), cage.folder / "log"
    return lambda *command, **more: cage.run([*command], work, log, **more)


@pytest.fixture
def python(cage: Cage) -> str:
    """One that whoever works in the cage may run."""
    return "python3" if cage.user else sys.executable


def look_for(
    monkeypatch: pytest.MonkeyPatch, cage: Cage, right: Callable[[psutil.Process, int], bool]
) -> None:
    """A command that waits for the file `seen` goes on once the cage has seen such a process."""
    measure = caging.memory

    def memory(process: psutil.Process) -> int:
        size = measure(process)
        if right(process, size):
            (cage.folder / "work" / "seen").touch()
        return size

    monkeypatch.setattr(caging, "memory", memory)


def test_a_command_is_not_root(run: Callable[..., Seen], cage: Cage) -> None:
    assert run("id", "-u").code == 0
    assert int((cage.folder / "log").read_text()) != 0


def test_a_command_has_one_core_where_cores_can_be_chosen(
    run: Callable[..., Seen], cage: Cage, python: str
) -> None:
    asked = "import os; print(getattr(os, 'sched_getaffinity', lambda pid: None)(0))"
    assert run(python, "-c", asked).code == 0
    assert (cage.folder / "log").read_text().strip() == (
        f"{{{cage.core}}}" if cage.core is not None else "None"
    )


def test_it_finds_no_java(run: Callable[..., Seen]) -> None:
    assert run("java", "-version").code == 127


def test_the_memory_of_a_child_counts(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Seen], cage: Cage, python: str
) -> None:
    look_for(monkeypatch, cage, lambda process, size: size > 100 * MB)
    holds = f"import subprocess; held = b'x' * {100 * MB}; subprocess.run(['sh', '-c', '{WAIT}'])"

    seen = run("sh", "-c", f'{python} -c "{holds}"; exit 3', patience=60)

    assert seen.code == 3
    assert 100 * MB < seen.peak < 200 * MB
    assert seen.left == seen.killed == 0


def test_a_process_that_is_left_behind_is_reported_and_ended(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Seen], cage: Cage
) -> None:
    monkeypatch.setattr(caging, "GRACE", 1)
    stays: list[psutil.Process] = []

    def here(process: psutil.Process, size: int) -> bool:
        if "1000.25" in process.cmdline() and process.name() == "sleep":
            stays.append(process)
        return bool(stays)

    look_for(monkeypatch, cage, here)
    seen = run("sh", "-c", f"sleep 1000.25 & {WAIT}", patience=60)

    assert (seen.code, seen.left) == (0, 1)
    assert not caging.alive(stays[0])


def test_a_command_that_takes_too_long_is_ended(run: Callable[..., Seen], cage: Cage) -> None:
    seen = run("sleep", "1000", patience=0)
    assert (seen.code, seen.left) == (None, 1)
    assert cage.inside() == set()


def test_home_is_closed_but_for_the_work_folder(run: Callable[..., Seen], cage: Cage) -> None:
    image = Image(cage)
    for place in (image.work, image.home / ".local"):
        assert run("mkdir", str(place)).code == 0
    image.close_home()

    for place in (image.home, image.home / ".local"):
        assert run("touch", str(place / "file")).code == 1
    assert run("touch", str(image.work / "file")).code == 0
    image.open_home()


def test_what_binder_has_by_itself_is_known_by_version() -> None:
    assert frozen("3.11").keys() == JUPYTER.keys()


def test_what_a_java_runs_is_its_main_class() -> None:
    zookeeper = ["/opt/bin/java", "-Xmx64m", "-cp", "a.jar:b.jar"]
    zookeeper += ["org.apache.zookeeper.server.ZooKeeperServerMain", "zoo.cfg"]
    for words, main in ((zookeeper, "ZooKeeperServerMain"), (["python", "a.B"], None), ([], None)):
        assert main_class(SimpleNamespace(cmdline=words.copy)) == main


@pytest.mark.parametrize(
    ("seen", "against"),
    [
        (FINE, []),
        (FINE._replace(code=1), ["nbval ended with 1"]),
        (FINE._replace(code=None), ["took too long"]),
        (FINE._replace(peak=2048 * MB), []),
        (FINE._replace(peak=2049 * MB), ["over 2048 MB"]),
        (FINE._replace(killed=1), ["1 processes killed for want of memory"]),
        (FINE._replace(left=2), ["2 processes left behind"]),
        (FINE._replace(javas=frozenset({"SparkSubmit"})), ["Spark was started"]),
    ],
)
def test_what_speaks_against_a_lab(seen: Seen, against: list[str]) -> None:
    assert verdict("03_rebalance", seen) == against


def test_the_lab_on_streams_may_start_spark() -> None:
    assert verdict("04_streams", FINE._replace(javas=frozenset({"SparkSubmit"}))) == []


@pytest.mark.parametrize("files", VERSIONS)
def test_a_group_knows_its_members_and_whom_the_kernel_ended(files: Files, folder: Path) -> None:
    (folder / "cgroup.procs").write_text("7\n12\n")
    (folder / Path(files.killed)).write_text("under_oom 0\noom_kill 3\noom_group_kill 9\n")
    group = Group(folder, files)
    assert group.members() == [7, 12]
    assert group.killed() == 3


def test_where_there_are_no_groups_nothing_is_made(folder: Path) -> None:
    (folder / "memory").mkdir()
    assert Group.make("ours", 2**30, folder) is None
    assert [path.name for path in folder.rglob("*")] == ["memory"]


def test_a_group_ends_what_takes_more(
    monkeypatch: pytest.MonkeyPatch, folder: Path, python: str
) -> None:
    """Where one may be made; where not, the cage says that memory is only measured."""
    cage = Cage(folder / "small", memory=64 * MB)
    log = folder / "said"
    seen = cage.run([python, "-c", f"print(len(b'x' * {200 * MB}))"], folder, log)
    told = cage.describe()[0]
    cage.close()

    if "held" in told and cage.group:
        assert (seen.code, seen.killed) == (-9, 1)
        assert not cage.group.path.exists()
    else:
        assert (seen.code, seen.killed) == (0, 0)
        assert "not held" in told
