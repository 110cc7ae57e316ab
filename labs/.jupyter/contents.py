"""What the file browser lists of labs/, and where the learner's work is kept.

The modules beside the notebooks have the answers and the drawing. They are not listed, but they can
be opened by a link and imported by a cell.

A lab that is saved goes to labs/yours/, which git ignores, and is opened from there from then on:

    on the page                  read from                  written to
    labs/01_storage.ipynb        labs/yours/, or labs/      labs/yours/

So the repository stays as it is, and `git pull` brings a new version at any time. A lab that is
deleted on the page loses the learner's version, and is as new. What the learner has answered and
solved stands there, too: progress.json, which the kernels write (widgets/progress).

A learner who has answered something sees in each lab, below its title, what of it is done: a cell
that `get` puts in and `save` takes out. It is in no file.

Where BROKERLAB_METADATA is kraft, a lab that is opened for the first time has its switch turned:
its cluster needs no ZooKeeper, and no JVM. The learner sees the word, and may write the other one.

Invariant: nothing that is done on the page changes a lab of the repository.
"""

import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from stills import StillsManager
from tornado.web import HTTPError
from traitlets import Set, Unicode

from widgets.metadata_switch import switched, wanted
from widgets.progress.line import put_in, take_out


class LabContentsManager(StillsManager):
    unlisted = Set(Unicode(), help="The paths that no directory lists, from the root").tag(
        config=True
    )
    labs = Set(Unicode(), help="The paths of the repository's labs, from the root").tag(config=True)
    yours = Unicode(help="The directory of the learner's versions, from the root").tag(config=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.progress = Path(self.root_dir, self.yours, "progress.json")
        os.environ["BROKERLAB_PROGRESS"] = str(self.progress)  # for the kernels, which inherit it
        self.metadata = wanted()  # by the environment

    def _get_os_path(self, path: str) -> str:
        """The one place in which Jupyter makes a file's path from what the page calls it."""
        yours = self._yours(path)
        return str(yours) if yours and yours.exists() else super()._get_os_path(path)

    def _yours(self, path: str) -> Path | None:
        """The file of the learner's version of a lab, which need not be there yet."""
        path = path.strip("/")
        return Path(self.root_dir, self.yours, Path(path).name) if path in self.labs else None

    async def get(self, path: str, content: bool = True, *more: Any, **named: Any) -> Any:
        model = await super().get(path, content, *more, **named)
        if content and model["type"] == "directory":
            model["content"] = [it for it in model["content"] if it["path"] not in self.unlisted]
        if content and model["type"] == "notebook":
            # JupyterLab writes down what the kernel says of its language: a notebook that lacks it
            # counts as changed as soon as it is opened.
            facts = model["content"]["metadata"]
            if facts.get("language_info", {}).get("name") == "python":
                facts["language_info"] = language()
            put_in(model["content"], self.progress, self._yours(path))
            yours = self._yours(path)
            if yours and not yours.exists():
                turn_switch(model["content"], self.metadata)
        return model

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        self._begin(path)
        take_out(model)
        return await super().save(model, path)

    async def rename_file(self, old_path: str, new_path: str) -> None:
        self._begin(old_path)
        await super().rename_file(old_path, new_path)

    async def delete_file(self, path: str) -> None:
        yours = self._yours(path)
        if yours and not yours.exists():
            raise HTTPError(403, f"{path} is as it came: there is nothing of yours to delete")
        await super().delete_file(path)

    def _begin(self, path: str) -> None:
        """Make the learner's version, with the time of the file that the page knows."""
        yours = self._yours(path)
        if yours and not yours.exists():
            yours.parent.mkdir(exist_ok=True)
            shutil.copy2(super()._get_os_path(path), yours)


def turn_switch(notebook: dict[str, Any], mode: str) -> None:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = switched(cell["source"], mode)


@cache
def language() -> dict[str, Any]:
    """What a kernel of ours will say of its language: it runs with this Python."""
    from ipykernel.ipkernel import IPythonKernel  # noqa: PLC0415 - half a second, when it is needed

    return dict(IPythonKernel.language_info)
