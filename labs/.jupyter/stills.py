"""Notebooks that keep their pictures: a still in the file, a widget on the page.

    in the file                              on the page
    application/vnd.brokerlab.view+json <──> application/vnd.jupyter.widget-view+json
    image/svg+xml, text/plain                image/svg+xml, text/plain

JupyterLab shows an error in the place of a widget whose kernel has ended, whatever else the output
has. So no saved output names a widget to JupyterLab. `save` takes the widget's last still, which
its kernel has written (widgets/stills.py), and hides the widget under a MIME type of our own. `get`
names it again while the notebook's kernel has it, so that a page can be reloaded.

The server asks no kernel: one that is busy or has ended must not keep anybody from saving.

Invariant: as long as the kernel runs, `get` returns the outputs that `save` was given.
"""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

SHOWN = "application/vnd.jupyter.widget-view+json"
HIDDEN = "application/vnd.brokerlab.view+json"
PICTURE = "image/svg+xml"
WORDS = "text/plain"


class StillsManager(AsyncLargeFileManager):
    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.stills = tempfile.TemporaryDirectory(prefix="brokerlab-stills-")
        os.environ["BROKERLAB_STILLS"] = self.stills.name  # for the kernels, which inherit it

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        if model.get("type") == "notebook" and "content" in model:
            written = {file.stem: file for file in self._files()}  # by the widget's model
            before = await self._in_the_file(path)
            for data in bundles(model["content"]):
                if SHOWN in data:
                    name = data[SHOWN]["model_id"]
                    if name in written:
                        data |= json.loads(written[name].read_text(encoding="utf-8"))
                    else:
                        data |= before.get(name, {})
                    if PICTURE in data:  # otherwise it is a widget of somebody else
                        data[HIDDEN] = data.pop(SHOWN)
        return await super().save(model, path)

    async def get(self, path: str, content: bool = True, *more: Any, **facts: Any) -> Any:
        model = await super().get(path, content, *more, **facts)
        if content and model["type"] == "notebook":
            living = {file.stem for pid in await self._kernels(path) for file in self._files(pid)}
            for data in bundles(model["content"]):
                if data.get(HIDDEN, {}).get("model_id") in living:
                    data[SHOWN] = data.pop(HIDDEN)
        return model

    async def _in_the_file(self, path: str) -> dict[str, dict[str, str]]:
        """The stills of kernels of an earlier server, by the widget's model."""
        if not await self.file_exists(path):
            return {}
        model = await super().get(path, type="notebook")
        return {
            data[HIDDEN]["model_id"]: {kind: data[kind] for kind in (PICTURE, WORDS)}
            for data in bundles(model["content"])
            if HIDDEN in data
        }

    def _files(self, pid: str = "*") -> Iterable[Path]:
        return Path(self.stills.name).glob(f"{pid}/*.json")

    async def _kernels(self, path: str) -> list[str]:
        """The process ids of a notebook's kernels."""
        server = self.parent
        return [
            str(server.kernel_manager.get_kernel(session["kernel"]["id"]).provisioner.pid)
            for session in await server.session_manager.list_sessions()
            if session["path"].strip("/") == path.strip("/") and session["kernel"]
        ]


def bundles(notebook: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The data of each output, by MIME type."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if "data" in output:
                yield output["data"]
