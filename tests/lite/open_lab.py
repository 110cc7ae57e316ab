"""A lab that is open in a tab: its cells are run by their ids, and its marks are looked at."""

from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.limits import JVM_S, START_S

NOTEBOOK = "window.jupyterapp.shell.currentWidget.content"
KERNEL = "window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status"
PLACE = f"cell => {NOTEBOOK}.widgets.findIndex(it => it.model.id === cell)"
SELECT = f"""async place => {{
    {NOTEBOOK}.activeCellIndex = place;
    await {NOTEBOOK}.scrollToItem(place, 'center');  // what is far away is not drawn
}}"""
COMMAND = "async name => { await window.jupyterapp.commands.execute(name); }"
KEPT = """async () => {
    const { contents } = window.jupyterapp.serviceManager;
    const labs = await contents.get('labs', { content: true });
    if (!labs.content.some(it => it.name === 'yours')) return {};
    const file = await contents.get('labs/yours/progress.json', { content: true });
    if (file.format === 'json') return file.content;
    if (file.format === 'text') return JSON.parse(file.content);
    const bytes = Uint8Array.from(atob(file.content), it => it.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
}"""


class OpenLab:
    def __init__(self, page: Page, site: str, lab: str = "00_start") -> None:
        self.page, self._lab = page, lab
        self._address = f"{site}/lab/index.html?path=labs/{lab}.ipynb"

    def open(self) -> None:
        self.page.goto(self._address)
        self.ready()

    def ready(self) -> None:
        """Wait until the notebook is shown, and its kernel is idle."""
        code = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell").first
        expect(code).to_be_visible(timeout=START_S * 1000)
        self.page.wait_for_function(f"{KERNEL} === 'idle'", timeout=JVM_S * 1000)

    def run(self, *cells: str) -> Locator:
        """Run these cells; returns the last one."""
        for cell in cells:
            place = self._select(cell)
            self.page.evaluate(COMMAND, "notebook:run-cell")
            self._select(cell)  # an output, or the dock, may have moved it
        panel = self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
        return panel.locator(f'.jp-Cell[data-windowed-list-index="{place}"]')

    def kept(self, lab: str = "") -> Any:
        """The marks of this lab or of another one, in the storage of the browser."""
        return self.page.evaluate(KEPT).get("labs", {}).get(lab or self._lab, {})

    def _select(self, cell: str) -> int:
        place: int = self.page.evaluate(PLACE, cell)
        assert place >= 0, f"{self._lab} has no cell {cell}"
        self.page.evaluate(SELECT, place)
        return place
