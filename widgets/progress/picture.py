"""A picture of what the learner has done. It looks at the file every second while a page shows
it."""

import os
from pathlib import Path

from widgets.progress.plan import LABS
from widgets.progress.record import PATH, ProgressFile, Unusable
from widgets.stage import SceneWidget

LOOK_S = 1.0  # seconds between two looks at the file


class ProgressPicture(SceneWidget):
    def __init__(self, path: Path | None, name: str) -> None:
        super().__init__(name=name)
        self._file = ProgressFile(path or Path(os.environ.get(PATH, LABS / "yours/progress.json")))
        self._drawn: object = None
        self.interval = LOOK_S
        self.poll()

    def poll(self) -> bool:
        try:
            kept, trouble = self._file.read(), ""
        except Unusable as error:
            kept, trouble = {"labs": {}, "broken": {}}, f"{self._file.path}: {error}."
        with self.lock:
            if self._drawn != (kept, trouble):
                self._drawn = kept, trouble
                self.trouble = trouble
                self._kept = kept
                self.draw()
        return True
