"""What is saved keeps its pictures: without a kernel, in both themes, and in nbconvert."""

import json
from pathlib import Path
from urllib.request import urlopen
from xml.etree import ElementTree

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Lab, Notebook, darken
from tests.interop.watch import until
from tests.limits import START_S

SHOW = "import recorded; view = recorded.view('failover'); view"
MOST = 1_000_000  # bytes of one output


class Saved:
    """A notebook with a picture of a recording, which was changed after its cell had run."""

    def __init__(self, page: Page, notebook: Notebook, lab: Lab) -> None:
        self.page, self.lab = page, lab
        self.stage = notebook.run(SHOW).locator(".lab-stage")
        expect(self.stage.locator("svg.lab-scene")).to_be_visible()
        first = self.words()
        notebook.run("view.seek(0.3)")
        expect(self.stage.locator("svg.lab-scene")).not_to_have_text("".join(first))
        with urlopen(lab.api("sessions"), timeout=START_S) as answer:
            self.path = json.load(answer)[0]["path"]
        page.keyboard.press("Control+s")  # the first time it asks for a name
        with page.expect_response(lambda it: it.request.method == "PUT"):
            page.get_by_role("button", name="Rename and Save").click()
        until(lambda: self.save() == self.words())

    def words(self) -> list[str]:
        """All texts in the picture on the page."""
        return self.stage.locator("svg.lab-scene text").all_text_contents()

    def save(self) -> list[str]:
        """All texts in the picture in the file."""
        with self.page.expect_response(lambda it: it.request.method == "PUT"):
            self.page.keyboard.press("Control+s")
        still = next(each for each in self.outputs() if "image/svg+xml" in each)
        root = ElementTree.fromstring(still["image/svg+xml"])
        return [it.text or "" for it in root.iter("{http://www.w3.org/2000/svg}text")]

    @property
    def file(self) -> Path:
        return self.lab.root / self.path

    def outputs(self) -> list[dict[str, str]]:
        cells = nbformat.read(self.file, 4).cells
        found = [output for cell in cells for output in cell.get("outputs", [])]
        return [output["data"] for output in found if "data" in output]

    def open(self) -> Locator:
        """Open it as a new page; its panel."""
        self.page.goto(self.lab.page(self.path))
        expect(self.page.locator("#jp-main-statusbar")).to_contain_text("| Idle")
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")


def width(part: Locator) -> float:
    box = part.bounding_box()
    assert box is not None
    return box["width"]


@pytest.fixture
def saved(page: Page, notebook: Notebook, lab: Lab) -> Saved:
    return Saved(page, notebook, lab)


def test_without_its_kernel_a_notebook_shows_what_was_last_seen(saved: Saved) -> None:
    saved.lab.end_kernels()
    for name in ("light", "dark"):
        panel = saved.open()
        if name == "dark":
            darken(saved.page)
        picture = panel.locator(".jp-RenderedSVG img")
        expect(picture).to_be_visible()
        expect(panel).not_to_contain_text("model not found")
        expect(saved.page.locator("#jupyterlab-splash")).to_have_count(0)
        assert 700 < width(picture) <= width(panel.locator(".jp-OutputArea").first)
        saved.page.screenshot(path=SCREENSHOTS / f"still_{name}.png")


def test_with_its_kernel_it_shows_the_widget_itself(saved: Saved) -> None:
    """Saving again loses nothing, and a page that is loaded again can be clicked."""
    words = saved.save()
    panel = saved.open()
    stage = panel.locator(".lab-stage")
    expect(stage.locator("svg.lab-scene")).to_be_visible()
    expect(panel.locator(".jp-RenderedSVG")).to_have_count(0)
    saved.stage = stage
    assert saved.words() == words
    assert saved.save() == words


def test_the_file_is_for_everybody(saved: Saved, browser: Browser, tmp_path: Path) -> None:
    for output in saved.outputs():
        assert "application/vnd.jupyter.widget-view+json" not in output
        assert output["text/plain"].startswith("ClusterView: A cluster of 3 brokers")
        assert len(json.dumps(output)) < MOST
    html, _ = HTMLExporter().from_filename(str(saved.file))
    target = tmp_path / "saved.html"
    target.write_text(html, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(target.as_uri())
    picture = page.locator("img").first
    expect(picture).to_be_visible()
    assert picture.evaluate("it => it.complete && it.naturalWidth") > 0
    assert 700 < width(picture) <= 1280
    page.screenshot(path=SCREENSHOTS / "still_nbconvert.png")
    page.close()
