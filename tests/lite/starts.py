"""What Python compiles as it starts in a tab, and after a module was edited there: a line of JSON.

It runs in Pyodide: node lite/pyodide.mjs build/lite/static/pyodide tests/lite/starts.py
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

SESSION, EDITED = "widgets.playground.session", "engine.model"
files: list[str] = []


def hear(event: str, words: tuple[Any, ...]) -> None:
    if event == "compile" and str(words[1]).endswith(".py"):
        files.append(str(words[1]))


if __name__ == "__main__":
    sys.addaudithook(hear)
    importlib.import_module(SESSION)
    at_start, module = [*files], sys.modules[EDITED]
    path = Path(str(module.__file__))
    path.write_text(path.read_text(encoding="utf-8") + "\nEDITED = True\n", encoding="utf-8")
    edited = getattr(importlib.reload(module), "EDITED", False)
    print(json.dumps({"compiled": at_start, "edited": edited}))
