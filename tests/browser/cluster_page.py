"""A ClusterView on a page: what a learner sees of it and does to it, in words.

The clocks are those of one machine, so what an event says and what the page did can be compared:
`note` has the page note when a shape is told something new, `first` asks for it.
"""

import json
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.browser.jupyter import Notebook

NOTE = """() => {
    window.noted = [];
    new MutationObserver((changes) => {
        for (const { target } of changes)
            noted.push([Date.now(), target.dataset.key ?? "", target.getAttribute("aria-label")]);
    }).observe(document.querySelector(".lab-scene"), {
        subtree: true, attributes: true, attributeFilter: ["aria-label"],
    });
}"""


class View:
    """A ClusterView on a page."""

    def __init__(self, page: Page, notebook: Notebook) -> None:
        self.page, self.notebook = page, notebook
        self.stage = page.locator(".lab-stage").first
        expect(self.stage.locator("svg")).to_be_visible()

    def shape(self, key: str) -> Locator:
        return self.stage.locator(f'[data-key="{key}"]').first

    def broker(self, number: int) -> Locator:
        return self.shape(f"broker {number}")

    def replica(self, broker: int, partition: str) -> Locator:
        return self.broker(broker).locator(f'[data-key="{partition}"]')

    def press(self, label: str) -> None:
        self.stage.get_by_role("button", name=label, exact=True).click()

    def choose(self, words: str) -> None:
        self.stage.get_by_role("menuitem", name=words).click()

    def by_mouse(self, shape: Locator, words: str) -> None:
        shape.locator("text.head").first.click()
        self.choose(words)

    def note(self) -> None:
        self.page.evaluate(NOTE)

    def first(self, key: str, word: str) -> int:
        """When a shape was first told something, ms since 1970."""
        noted = self.page.evaluate("noted")
        return int(next(at for at, who, label in noted if who == key and word in label))

    def ask(self, expression: str) -> Any:
        """What the kernel knows."""
        output = self.notebook.run(f"import json; print(json.dumps({expression}), 'told')")
        expect(output).to_contain_text("told")
        return json.loads(output.inner_text().rpartition("told")[0])

    def photograph(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.stage.screenshot(path=SCREENSHOTS / f"cluster_view_{name}.png")
