"""Several students on one machine: nobody is in another one's way, and nothing of them is left."""

import asyncio
import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from tests.classroom import lesson, student
from tests.classroom.student import STARTS, Place, Student
from tests.interop.watch import until

ROOT = Path(__file__).resolve().parents[2]
DIES = """
import sys
with open("starts", "a") as log:
    log.write("once more\\n")
sys.exit("Address already in use")
"""


@pytest.fixture
def seated(tmp_path: Path) -> list[Student]:
    """Two who have a place, and no kernel."""
    places = [Place((2181 + n, 9092 + n), tmp_path / str(n)) for n in range(2)]
    return [Student(f"s{n}", 1, tmp_path, place) for n, place in enumerate(places)]


def test_three_students_work_at_once_and_leave_in_three_ways() -> None:
    command = [sys.executable, "-m", "tests.classroom", "--students", "3", "--brokers", "2"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert "everybody read all of their own, and no others" in told.stdout
    assert "1 shut down, 1 killed, 1 interrupted and restarted; nothing is left" in told.stdout


def test_a_port_that_two_have_is_noticed(seated: list[Student]) -> None:
    lesson._apart(seated)
    assert seated[0].place
    seated[1].place = Place((7, seated[0].place.ports[1]), Path("elsewhere"))
    with pytest.raises(AssertionError, match=r"a port is taken twice: .*9092, 9092"):
        lesson._apart(seated)


def test_a_directory_that_two_have_is_noticed(seated: list[Student]) -> None:
    assert seated[0].place
    seated[1].place = Place((7, 8), seated[0].place.folder)
    with pytest.raises(AssertionError):
        lesson._apart(seated)


def test_what_stays_behind_is_noticed(
    seated: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lesson, "CELL_S", 0.0)
    mei = seated[0]
    assert mei.is_gone
    with subprocess.Popen(["sleep", "600"]) as process:
        mei.family = [psutil.Process(process.pid)]
        try:
            until(lambda: mei.family[0].cmdline() == ["sleep", "600"])
            with pytest.raises(AssertionError, match=r"there are still \['sleep 600'"):
                asyncio.run(lesson._gone(mei))
        finally:
            process.kill()
    assert mei.is_gone
    assert mei.place
    mei.place.folder.mkdir()
    with pytest.raises(AssertionError, match=r"s0 has left, and there are still .*0"):
        asyncio.run(lesson._gone(mei))


@pytest.mark.long
def test_a_kernel_that_does_not_come_up_is_tried_again_and_then_its_log_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "ipykernel_launcher.py").write_text(DIES)
    monkeypatch.setattr(student, "ROOT", tmp_path)
    with pytest.raises(AssertionError, match="s1 has no kernel:\nAddress already in use"):
        asyncio.run(Student("s1", 1, tmp_path).sit_down())
    assert (tmp_path / "labs" / "starts").read_text() == "once more\n" * STARTS
