"""A learner opens the lab: the first notebook, the files to begin with, links that lead on."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote, urljoin
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

import engine
from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import ROOT, Lab, Notebook, running_lab
from tests.docs.test_links import ELSEWHERE, LINK
from tests.limits import START_S

LABS = sorted((ROOT / "labs").glob("*.ipynb"))
READ_FIRST = [path.name for path in LABS] + ["README.md"]


def test_the_lab_opens_and_the_engine_answers(page: Page, notebook: Notebook) -> None:
    output = notebook.run("import engine; print(engine.__version__)")

    expect(output).to_have_text(engine.__version__)


def test_the_file_browser_lists_the_labs_and_not_what_they_are_made_of(
    page: Page, lab: Lab
) -> None:
    """The answers above all. A file that the learner makes is listed."""
    (lab.root / "labs" / "mine.py").touch()
    page.get_by_title("Refresh the file browser.").click()
    names = page.locator(".jp-DirListing-itemText")
    expect(names.filter(has_text="mine.py")).to_be_visible()
    others = {it for it in names.all_inner_texts() if not it.startswith("Untitled")}
    assert others == {*READ_FIRST, "mine.py"}
    (lab.root / "labs" / "mine.py").unlink()


def test_who_comes_first_sees_the_first_lab_and_nothing_else(
    browser: Browser, tmp_path: Path
) -> None:
    with running_lab(tmp_path) as lab:
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        page.goto(f"{lab.url}?token={lab.token}")
        expect(page.locator(".jp-NotebookPanel h1").first).to_contain_text("Ten minutes")
        expect(page.locator(".jp-DirListing")).to_be_hidden()
        page.screenshot(path=SCREENSHOTS / "first_sight.png")
        page.set_viewport_size({"width": 900, "height": 768})
        page.screenshot(path=SCREENSHOTS / "first_sight_900.png")
        page.get_by_role("tab", name="File Browser").click()
        expect(page.locator(".jp-DirListing-itemText", has_text="01_storage.ipynb")).to_be_visible()
        page.close()


# -- links ----------------------------------------------------------------------------------------


def relative_links() -> Iterator[tuple[str, str]]:
    """Where they lead to within the repository, by the page that has them."""
    for path in [*LABS, ROOT / "labs" / "README.md"]:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            texts = ["".join(it["source"]) for it in cells if it["cell_type"] == "markdown"]
            text = "\n".join(texts)
        for markdown, html in LINK.findall(text):
            target = (markdown or html).partition("#")[0]
            if target and not ELSEWHERE.match(target):
                yield path.name, target


def test_each_link_of_a_lab_leads_to_a_file(lab: Lab) -> None:
    found = list(relative_links())
    assert any(target.startswith("../engine/") for _, target in found)
    for name, target in found:
        # Above the root JupyterLab leaves out "..", as a browser does.
        path = urljoin(f"http://lab/labs/{name}", target).removeprefix("http://lab/").rstrip("/")
        try:
            with urlopen(lab.api(f"contents/{quote(path)}") + "&content=0", timeout=START_S) as it:
                assert json.load(it)["path"] == path
        except HTTPError as error:
            pytest.fail(f"{name} has a link to {target}, and JupyterLab says {error}")


def test_no_page_is_named_in_a_lab_without_a_link_to_it() -> None:
    for path in LABS:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                bare = re.findall(r"(?<!\[)`docs/[\w-]+\.md`", "".join(cell["source"]))
                assert bare == [], path.name


def test_a_link_to_a_page_opens_it_as_it_is_meant_to_be_read(page: Page, lab: Lab) -> None:
    page.goto(lab.page("labs/00_start.ipynb"))
    page.locator(".jp-Notebook h2", has_text="Where to go next").scroll_into_view_if_needed()
    page.get_by_role("link", name="What a cluster can lose").click()
    rendered = page.locator(".jp-MarkdownViewer h1")
    expect(rendered).to_be_visible()
    page.get_by_role("tab", name="00_start.ipynb").click()
    page.get_by_role("link", name="01 · Storage").first.click()
    expect(page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) h1").first).to_contain_text("01")


def test_a_closed_lab_leaves_no_process(tmp_path: Path) -> None:
    with running_lab(tmp_path) as lab:
        start_kernel = Request(lab.api("kernels"), data=b"{}", method="POST")
        with urlopen(start_kernel, timeout=START_S) as answer:
            assert answer.status == 201
        kernels = lab.kernels()
        assert len(kernels) == 1

    assert not any(process.is_running() for process in [lab.process, *kernels])
