"""What the file browser lists of labs/: the notebooks, README.md, and the learner's own files.

The modules beside the notebooks have the answers and the drawing. They are not listed, but they can
be opened by a link and imported by a cell.
"""

from typing import Any

from stills import StillsManager
from traitlets import Set, Unicode


class LabContentsManager(StillsManager):
    unlisted = Set(Unicode(), help="The paths that no directory lists, from the root").tag(
        config=True
    )

    async def get(self, path: str, content: bool = True, *more: Any, **facts: Any) -> Any:
        model = await super().get(path, content, *more, **facts)
        if content and model["type"] == "directory":
            model["content"] = [it for it in model["content"] if it["path"] not in self.unlisted]
        return model
