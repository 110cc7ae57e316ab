"""A picture on a page: the focus and the controls stay, and without a kernel it says so."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from engine.cluster.recording import Recording
from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import ROOT, Notebook
from tests.browser.picture_page import PicturePage
from widgets import ClusterView

SETUP = """from widgets.scene import Act, Scene, circle
from widgets.stage import SceneWidget
def scene(*places):
    act = Act("close", None, "close")
    dots = [circle(f"dot {x}", x, 20, 9, label=f"dot {x}", acts=(act,)) for x in places]
    return Scene(400, 40, dots)
stage = SceneWidget()
stage.show(scene(50, 150, 200, 390))
stage"""


def test_the_focus_goes_to_the_nearest_shape_that_is_left(page: Page, notebook: Notebook) -> None:
    notebook.run(SETUP)
    dot = page.locator('[data-key="dot 150"]')
    expect(dot).to_be_visible()
    notebook.run("import threading; later = threading.Timer(2, stage.show, [scene(50, 200, 390)])")
    notebook.run("later.start()")

    dot.focus()
    expect(dot).to_be_focused()

    expect(dot).to_have_count(0)
    expect(page.locator('[data-key="dot 200"]')).to_be_focused()


HANDLES = """from widgets import controls
stage = SceneWidget(name="Group", about="billing · lag 0")
stage.show(scene(50), [controls.choice("close", "by", ["range", "sticky"], "range")])
stage"""


def test_controls_stay_when_the_words_beside_them_change(page: Page, notebook: Notebook) -> None:
    """Else a list that is open would close, and a click between two looks be lost."""
    notebook.run(SETUP)
    notebook.run(HANDLES)
    stage = page.locator(".lab-stage").nth(1)
    by = stage.get_by_label("by")
    by.focus()
    held = by.element_handle()

    notebook.run("stage.name, stage.about = 'Groups', 'billing · lag 12,345'; print('told')")

    expect(stage.locator(".lab-top")).to_contain_text("Groupsbilling · lag 12,345")
    assert held.evaluate("it => it.isConnected")
    expect(stage.locator(".lab-part")).to_have_text(["billing", "lag 12,345"])


AGAIN = """() => {  // elements that were taken out and put in again
    window.again = [];
    const svg = document.querySelector("svg.lab-scene");
    new MutationObserver((changes) => {
        const gone = new Set(changes.flatMap((each) => [...each.removedNodes]));
        for (const it of gone) if (it.isConnected) again.push(it.getAttribute("data-key"));
    }).observe(svg, { childList: true, subtree: true });
}"""
FILM = 15_000, 50  # ms of the run, and from one picture to the next
LISTED = re.compile(r"[\w.]+ \d+ \d+")  # the key of an event in the list


def test_what_stays_in_the_picture_is_not_put_in_again(browser: Browser) -> None:
    """While dots travel and end, the list of what happened does not fade in once more."""
    context = browser.new_context(viewport={"width": 1000, "height": 900})
    page = context.new_page()
    view = ClusterView(Recording.load(ROOT / "labs" / "recorded" / "failover.jsonl.gz"))
    shown = PicturePage(page, view, 928)
    page.evaluate(AGAIN)
    start, (whole, step) = view.run_source.start, FILM
    dots = 0
    for at in range(start, start + whole, step):
        view.stop_at(at)
        shown.again()
        dots += any(it.kind == "travel" for it in view.painted(view.moment()).all())
    assert dots > 5, "nothing travels in this part of the run"
    assert [key for key in page.evaluate("again") if LISTED.fullmatch(key)] == []
    view.close()
    context.close()


@pytest.mark.parametrize("what", ["restart", "shutdown"])
def test_when_its_kernel_has_ended_a_picture_is_grey_and_says_what_to_do(
    page: Page, notebook: Notebook, what: str
) -> None:
    notebook.run(SETUP)
    stage = page.locator(".lab-stage").first
    expect(page.locator('[data-key="dot 50"]')).to_be_visible()
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.locator(f"[data-command='kernelmenu:{what}']").click()
    if what == "restart":
        page.get_by_role("button", name="Confirm Kernel Restart").click()
    else:  # JupyterLab does not tell its widgets: only who clicks learns of it
        expect(page.locator("#jp-main-statusbar")).to_contain_text("No Kernel")
        page.locator('[data-key="dot 50"]').click()
    expect(stage).to_contain_text("The kernel has ended. Run this cell again.")
    expect(stage).to_have_class(re.compile("ended"))
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    stage.screenshot(path=SCREENSHOTS / f"stage_kernel_{what}.png")
    if what == "restart":
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")
