"""Who works by keyboard does not lose the place when the shape in focus goes."""

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
