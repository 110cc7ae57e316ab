"""A lab on the page: its cells found by their words, run, and waited for.

JupyterLab draws a cell only when it comes near the window: to one that is not there we scroll.
"""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS

WHOLE = 400_000  # ms in which all cells have surely ended
ROUNDS = 3  # through a lab: a busy machine may draw a cell when we are beyond it
ERROR = '[data-mime-type="application/vnd.jupyter.error"]'
NEXT_SCREEN = """async it => {  // whether there is another one, once its cells are drawn
    const before = it.scrollTop;
    it.scrollTop += it.clientHeight * 0.8;
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    return it.scrollTop > before;
}"""


class Lesson:
    def __init__(self, page: Page, lab: str) -> None:
        page.set_viewport_size({"width": 1280, "height": 1000})
        self.page, self.lab = page, lab
        page.locator(".jp-DirListing-item", has_text=f"{lab}.ipynb").dblclick()
        self.panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")

    def cell(self, words: str) -> Locator:
        """The first code cell with these words in it, as far as cells are drawn."""
        editor = self.page.locator(".jp-InputArea-editor", has_text=words)
        return self.panel.locator(".jp-CodeCell").filter(has=editor).first

    def go_to(self, words: str) -> Locator:
        """Down from here, screen by screen, then once more from the top, until it is there."""
        cell = self.cell(words)
        scroller = self.panel.locator(".jp-WindowedPanel-outer")
        for _ in range(ROUNDS):
            while not cell.count() and scroller.evaluate(NEXT_SCREEN):
                pass
            if cell.count():
                break
            scroller.evaluate("it => { it.scrollTop = 0 }")
        cell.scroll_into_view_if_needed()
        return cell

    def run(self, words: str, patience: float | None = None) -> Locator:
        """Run a cell and see it end; what it shows."""
        self.go_to(words).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        return self.ended(words, patience)

    def ended(self, words: str, patience: float | None = None) -> Locator:
        """What a cell shows once it has ended, in view: not an error."""
        cell = self.go_to(words)
        prompt = cell.locator(".jp-InputPrompt")
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"), timeout=patience)
        expect(cell.locator(ERROR)).to_have_count(0)
        output = cell.locator(".jp-OutputArea").first
        output.scroll_into_view_if_needed()
        return output

    def run_all(self, last: str) -> Locator:
        """All cells, up to one that is near the end; what that one shows. None may fail."""
        prompt = self.go_to(last).locator(".jp-InputPrompt")
        self.menu("Run", "Run All Cells")
        expect(prompt).to_have_text("[*]:")
        expect(prompt).not_to_have_text("[*]:", timeout=WHOLE)
        errors = self.panel.locator(ERROR)
        assert errors.all_inner_texts() == []
        return self.ended(last)

    def menu(self, *words: str) -> None:
        self.page.get_by_role("menuitem", name=words[0], exact=True).click()
        for each in words[1:]:
            self.page.locator(".lm-Menu-itemLabel", has_text=re.compile(f"^{each}$")).click()

    def photograph(self, name: str, what: Locator | None = None) -> None:
        """A part, or what is on the screen."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{self.lab.partition('_')[2]}_{name}.png"
        (what or self.page).screenshot(path=path)


def part(stage: Locator, key: str) -> Locator:
    """A shape of a picture."""
    return stage.locator(f'[data-key="{key}"]').first
