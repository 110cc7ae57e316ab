"""A learner's work is kept beside the labs: git sees no change, and a pull succeeds."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tornado.web import HTTPError
from traitlets.config import Config

from widgets.progress.record import ProgressFile, TaskPlace

ROOT = Path(__file__).resolve().parents[2]
LAB, OTHER = "labs/00_start.ipynb", "labs/01_storage.ipynb"


class Page:
    """What JupyterLab asks of its server, one request after the other."""

    def __init__(self, root: Path) -> None:
        from contents import LabContentsManager  # noqa: PLC0415 - found by the fixture

        self.manager = LabContentsManager(
            root_dir=str(root),
            labs={LAB, OTHER},
            yours="labs/yours",
            parent=None,
            config=Config(
                FileContentsManager={"delete_to_trash": False},
                NotebookNotary={"db_file": ":memory:"},  # not the one of whoever runs this
            ),
        )
        self.manager._kernels = self._no_kernels

    async def _no_kernels(self, path: str) -> list[str]:
        return []

    def open(self, path: str) -> Any:
        return asyncio.run(self.manager.get(path))["content"]

    def save(self, path: str, title: str) -> None:
        notebook = self.open(path)
        notebook["cells"][0]["source"] = title
        asyncio.run(self.manager.save({"type": "notebook", "content": notebook}, path))

    def title(self, path: str) -> str:
        return str(self.open(path)["cells"][0]["source"])


def git(root: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    return subprocess.run(
        ["git", *who, *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two labs, and a clone of it in which somebody learns."""
    ours = tmp_path / "ours"
    (ours / "labs").mkdir(parents=True)
    for path in (LAB, OTHER, ".gitignore"):
        shutil.copy(ROOT / path, ours / path)
    git(ours, "init", "-q", "-b", "main")
    git(ours, "add", "-A")
    git(ours, "commit", "-q", "-m", "labs")
    git(tmp_path, "clone", "-q", "ours", "theirs")
    return tmp_path / "theirs"


@pytest.fixture
def page(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    monkeypatch.setenv("BROKERLAB_STILLS", "")  # a manager sets these, for the kernels
    monkeypatch.setenv("BROKERLAB_PROGRESS", "")
    monkeypatch.syspath_prepend(ROOT / "labs" / ".jupyter")
    monkeypatch.delitem(sys.modules, "contents", raising=False)
    page = Page(root)
    yield page
    page.manager.stills.cleanup()
    page.manager.notary.store.close()


def test_a_pull_after_a_day_of_work_brings_the_next_version(page: Page, root: Path) -> None:
    page.save(LAB, "mine")
    assert page.title(LAB) == "mine"
    assert git(root, "status", "--porcelain") == ""

    ours = root.parent / "ours"
    for path in (LAB, OTHER):
        text = (ours / path).read_text(encoding="utf-8")
        (ours / path).write_text(text.replace('"# ', '"# Newer: ', 1), encoding="utf-8")
    git(ours, "commit", "-qam", "newer")
    git(root, "pull", "-q", "--ff-only")

    assert page.title(LAB) == "mine"
    assert page.title(OTHER).startswith("# Newer: ")
    asyncio.run(page.manager.delete(LAB))
    assert page.title(LAB).startswith("# Newer: ")


def test_a_lab_is_opened_in_the_mode_that_the_environment_names(page: Page) -> None:
    """Binder's is kraft. The learner's own version keeps the learner's word."""
    assert mode(page) == ['metadata = "zookeeper"  # change me: kraft']
    page.save(LAB, "mine")
    page.manager.metadata = "kraft"
    assert mode(page) == ['metadata = "zookeeper"  # change me: kraft']
    asyncio.run(page.manager.delete(LAB))
    assert mode(page) == ['metadata = "kraft"  # change me: zookeeper']


def mode(page: Page) -> list[str]:
    """The line with the switch."""
    lines = [line for cell in page.open(LAB)["cells"] for line in cell["source"].splitlines()]
    return [line for line in lines if line.startswith("metadata = ")]


def test_a_lab_that_nobody_has_worked_on_cannot_be_deleted(page: Page, root: Path) -> None:
    with pytest.raises(HTTPError, match="nothing of yours to delete"):
        asyncio.run(page.manager.delete(LAB))
    assert (root / LAB).exists()


def test_a_lab_that_is_renamed_is_a_copy(page: Page, root: Path) -> None:
    asyncio.run(page.manager.rename(LAB, "labs/mine.ipynb"))
    assert page.title("labs/mine.ipynb") == page.title(LAB)
    assert (root / LAB).exists()


def test_a_notebook_of_ones_own_lies_where_it_was_made(page: Page, root: Path) -> None:
    shutil.copy(root / LAB, root / "labs/mine.ipynb")
    page.save("labs/mine.ipynb", "mine")
    assert not (root / "labs/yours").exists()


def test_a_lab_says_what_a_kernel_will_say_of_its_language(page: Page) -> None:
    """JupyterLab counts a notebook as changed if the two differ."""
    from ipykernel.ipkernel import IPythonKernel  # noqa: PLC0415 - half a second

    assert page.open(LAB)["metadata"]["language_info"] == IPythonKernel.language_info


# -- what is done --------------------------------------------------------------------------------


SO_FAR = "progress-so-far"


def answer(root: Path, lab: str, cell: str) -> None:
    file = ProgressFile(root / "labs/yours/progress.json")
    file.path.parent.mkdir(exist_ok=True)
    file.predicted(TaskPlace(lab, cell), "Lost?", predicted="no", happened="no")


def test_before_the_first_answer_a_lab_has_no_cell_about_progress(page: Page) -> None:
    assert SO_FAR not in [cell["id"] for cell in page.open(LAB)["cells"]]


def test_a_lab_says_below_its_title_what_is_done_and_what_comes_next(
    page: Page, root: Path
) -> None:
    answer(root, "00_start", "predict")
    told = page.open(LAB)["cells"][1]
    assert told["id"] == SO_FAR
    line = "**So far** 1 of 4 in this lab: ✓○ · ○ · ▢."
    assert told["source"].startswith(line)
    nothing = page.open(OTHER)["cells"][1]["source"]
    assert nothing.startswith("**So far** 0 of ")


def test_the_cell_about_progress_is_in_no_file(page: Page, root: Path) -> None:
    answer(root, "00_start", "predict")
    page.save(LAB, "mine")
    saved = (root / "labs/yours/00_start.ipynb").read_text(encoding="utf-8")
    assert "mine" in saved
    assert SO_FAR not in saved
    assert [cell["id"] for cell in page.open(LAB)["cells"]].count(SO_FAR) == 1


def test_a_damaged_file_of_progress_does_not_keep_a_lab_from_opening(
    page: Page, root: Path
) -> None:
    answer(root, "00_start", "predict")
    (root / "labs/yours/progress.json").write_text("{", encoding="utf-8")
    assert SO_FAR not in [cell["id"] for cell in page.open(LAB)["cells"]]
