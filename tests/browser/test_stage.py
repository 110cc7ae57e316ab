"""What a hand is on stays: the place of the focus in a picture, and the controls above it."""

from playwright.sync_api import Page, expect

from tests.browser.jupyter import Notebook

SETUP = """from widgets.scene import Act, Scene, circle
from widgets.stage import Stage
def scene(*places):
    act = Act("close", None, "close")
    dots = [circle(f"dot {x}", x, 20, 9, label=f"dot {x}", acts=(act,)) for x in places]
    return Scene(400, 40, dots)
stage = Stage()
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
stage = Stage(name="Group", about="billing · lag 0")
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
