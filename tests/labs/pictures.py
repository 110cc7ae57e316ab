"""Keeps what a lab shows, so that it reads well where nothing runs, on GitHub for instance.

    .venv/bin/python -m tests.labs.pictures labs/00_start.ipynb

Run it when a lab or a view has changed. Each cell is run; a widget leaves a still picture of
itself, everything else its text. Widgets themselves are not saved: without a kernel they would
be an error message.
"""

import base64
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_output
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import BROWSERS, FLAGS
from tests.labs.reader import Reader
from widgets.stage import Stage


def keep(path: Path, browser: Browser) -> None:
    reader = Reader(path)
    try:
        for count, cell in enumerate(reader.cells, 1):
            printed, value = reader.run(cell)
            cell.execution_count = count
            cell.outputs = [output("stream", text=printed)] if printed else []
            if value is not None:
                data = shown(value, browser)
                cell.outputs.append(output("execute_result", data, execution_count=count))
    finally:
        reader.close()
    nbformat.write(reader.notebook, path)  # type: ignore[no-untyped-call]


def output(kind: str, data: dict[str, str] | None = None, **more: Any) -> Any:
    return new_output(kind, data, **more)  # type: ignore[no-untyped-call]


def shown(value: Any, browser: Browser) -> dict[str, str]:
    if not isinstance(value, Stage):
        return {"text/plain": repr(value)}
    value.look()  # nobody watches, so it hasn't looked by itself
    picture = photograph(value.svg(), browser)
    return {"image/png": base64.b64encode(picture).decode(), "text/plain": type(value).__name__}


def photograph(svg: str, browser: Browser) -> bytes:
    page = browser.new_page(color_scheme="light", viewport={"width": 1400, "height": 1000})
    page.set_content(f"<style>svg {{ display: block }}</style>{svg}")
    picture = page.locator("svg").screenshot()
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
