"""Keeps what a lab shows: the site shows it to those who ask, and nbval compares it.

    .venv/bin/python -m tests.labs.pictures labs/00_start.ipynb

Run it when a lab or a view has changed. Each cell is run; a widget or a chart leaves a still
picture of itself, a question its words, everything else what a kernel would make of it: text,
tables, verdicts. Widgets themselves are not saved: without a kernel they would be an error message.
tests/labs/split.py puts what tells an outcome beside the notebook.
"""

import base64
import shutil
import sys
from pathlib import Path
from typing import Any

from IPython.core.formatters import DisplayFormatter
from nbformat.v4 import new_output
from playwright.sync_api import Browser, sync_playwright
from plotly.graph_objects import Figure  # type: ignore[import-untyped]

from tests.browser.conftest import BROWSERS, FLAGS
from tests.labs.reader import Reader
from tests.labs.split import explain_terms, name_situations, write
from widgets.estimate.view import Estimate
from widgets.question.quiz import Quiz
from widgets.scene import Scene
from widgets.stage import SceneWidget

STYLE = "<style>svg { display: block }</style>"


def keep(path: Path, browser: Browser) -> None:
    reader = Reader(path)
    try:
        for count, cell in enumerate(reader.cells, 1):
            printed, value = reader.run(cell)
            cell.execution_count = count
            cell.outputs = [output("stream", text=printed)] if printed else []
            if isinstance(value, Figure):  # a chart shows itself; it is no cell's result
                cell.outputs.append(output("display_data", shown(value, browser)))
            elif value is not None:
                data = shown(value, browser)
                cell.outputs.append(output("execute_result", data, execution_count=count))
    finally:
        reader.close()
    name_situations(reader.notebook)
    explain_terms(reader.notebook)
    write(path, reader.notebook)


def output(kind: str, data: dict[str, Any] | None = None, **more: Any) -> Any:
    return new_output(kind, data, **more)  # type: ignore[no-untyped-call]


def shown(value: Any, browser: Browser) -> dict[str, Any]:
    """What a cell that ends in this value leaves behind, by kind."""
    if isinstance(value, Quiz | Estimate):
        return value.words()
    if isinstance(value, SceneWidget):
        value._repr_mimebundle_()  # as in a notebook: from now on a live view records
        value.poll()  # nobody watches, so it hasn't looked by itself
        if "image/svg+xml" not in value.still():  # it says all in words
            return dict(value.still())
        return still(value, photograph(STYLE + value.svg(), "svg", browser))
    if isinstance(value, Scene):
        return still(value, photograph(STYLE + value.svg(), "svg", browser))
    if isinstance(value, Figure):
        page = value.to_html(include_plotlyjs=True, config={"staticPlot": True})
        return still(value, photograph(page, ".js-plotly-plot .svg-container", browser))
    return dict(DisplayFormatter().format(value)[0])  # type: ignore[no-untyped-call]


def still(value: Any, picture: bytes) -> dict[str, Any]:
    return {"image/png": base64.b64encode(picture).decode(), "text/plain": type(value).__name__}


def photograph(content: str, part: str, browser: Browser) -> bytes:
    """A part of a page, once it is there."""
    page = browser.new_page(color_scheme="light", viewport={"width": 1400, "height": 1000})
    page.set_content(content)
    picture = page.locator(part).first.screenshot()
    page.close()
    return picture


def main(paths: list[str]) -> None:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for path in map(Path, paths):
            sys.path.insert(0, str(path.resolve().parent))
            keep(path, browser)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
