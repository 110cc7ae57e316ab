"""Stills: what each widget of this kernel has last shown, in files that the Jupyter server reads.

    kernel                          $BROKERLAB_STILLS/                 Jupyter server
    a widget shows a scene ──────>  PID/MODEL.json  ─────────────────> labs/.jupyter/stills.py
                                    {"image/svg+xml": ..., ...}        puts it into what it saves

A widget lives in its kernel, so a notebook that is opened later has no widget to show. The kernel
cannot know when a notebook is saved, and cannot change an output that is already on the page
without drawing its widget anew. So it writes stills, and the server puts them into the file.
`make lab` sets the variable; where it is not set nothing is written, and the still of a widget is
that of the moment when its cell ran.

Invariant: a file is whole, at every moment.
"""

import json
import os
import threading
from pathlib import Path
from typing import Protocol

PLACE = "BROKERLAB_STILLS"
SETTLED = 1.0  # seconds from a change until its still is written: the changes until then share it


class HasStill(Protocol):
    @property
    def shown_id(self) -> str | None: ...

    def still(self) -> dict[str, str]: ...


_later: dict[int, HasStill] = {}  # widgets that have changed, by id()
_lock = threading.Lock()


def changed(widget: HasStill) -> None:
    """Write its still soon."""
    if PLACE not in os.environ:
        return
    with _lock:
        if not _later:
            timer = threading.Timer(SETTLED, _write)
            timer.daemon = True
            timer.start()
        _later[id(widget)] = widget


def _write() -> None:
    with _lock:
        widgets = [*_later.values()]
        _later.clear()
    folder = Path(os.environ[PLACE], str(os.getpid()))
    folder.mkdir(parents=True, exist_ok=True)
    for widget in widgets:
        if shown_id := widget.shown_id:  # else it is closed
            path = folder / f"{shown_id}.json"
            written = path.with_suffix(".new")
            written.write_text(json.dumps(widget.still()), encoding="utf-8")
            written.replace(path)
