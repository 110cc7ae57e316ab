"""A learner opens the lab: the files are there, the first cell runs, nothing stays behind."""

import re
from pathlib import Path
from urllib.request import Request, urlopen

from playwright.sync_api import Page, expect

import engine
from tests.browser.jupyter import PATIENCE, Lab, Notebook, running_lab


def test_the_lab_opens_and_the_engine_answers(page: Page, notebook: Notebook, lab: Lab) -> None:
    names = [path.name for path in lab.folder.iterdir() if not path.name.startswith((".", "__"))]
    assert "README.md" in names
    for name in names:
        item = page.locator(".jp-DirListing-itemText", has_text=re.compile(f"^{re.escape(name)}$"))
        expect(item).to_be_visible()

    output = notebook.run("import engine; print(engine.__version__)")

    expect(output).to_have_text(engine.__version__)


def test_a_closed_lab_leaves_no_process(tmp_path: Path) -> None:
    with running_lab(tmp_path) as lab:
        start_kernel = Request(lab.api("kernels"), data=b"{}", method="POST")
        with urlopen(start_kernel, timeout=PATIENCE) as answer:
            assert answer.status == 201
        kernels = lab.kernels()
        assert len(kernels) == 1

    assert not any(process.is_running() for process in [lab.process, *kernels])
