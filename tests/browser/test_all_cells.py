"""Each lab on the page from its first cell to its last, and what its table says then.

`make test` runs all cells without a page, so these are for `make browser ARGS='-m long'`.
"""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lesson import Lesson

# By lab: its number of claims, and cells whose pictures are looked at.
LABS = {
    "02_replication": (40, ["steps = sim.watch(", "folders = {b: "]),
    "03_rebalance": (53, ["pictures.reading("]),
    "04_streams": (26, ["remote.chart(ratio)", "starting = session.starting()"]),
    "06_sending": (26, []),
    "07_promises": (25, []),
    "05_controller": (16, []),
}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", LABS)
def test_all_cells(page: Page, name: str) -> None:
    claims, cells = LABS[name]
    lesson = Lesson(page, name)
    table = lesson.run_all("ledger.table()")
    expect(table).to_contain_text(f"{claims} claims of {name}")
    expect(table).not_to_contain_text("not run yet")
    lesson.photograph(f"{name}_table")
    for place, words in enumerate(cells):
        lesson.ended(words)
        lesson.photograph(f"{name}_{place}")
