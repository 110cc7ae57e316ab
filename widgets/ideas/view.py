"""IdeaMap: the map of Kafka's ideas, with a mark on those whose question you have answered.

    IdeaMap()       of the file that this lab writes

An idea counts when a question or an exercise was answered in the section that shows it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from widgets.ideas.drawing import WIDTH, idea_map
from widgets.ideas.idea import ideas
from widgets.progress.picture import ProgressPicture
from widgets.progress.plan import lab_plans
from widgets.scene import Scene, group


class IdeaMap(ProgressPicture):
    def __init__(self, path: Path | None = None) -> None:
        self._plans = lab_plans()
        super().__init__(path, "Ideas")

    def draw(self) -> None:
        with self.lock:
            answered = set(self._answered(self._kept["labs"]))
            drawn = idea_map(ideas(), answered)
            width = max(self.width, WIDTH)
            whole = group("map", (width - WIDTH) / 2, 0, drawn.shapes)
            mapped = sum(idea.map is not None for idea in ideas().values())
            self.about = f"{len(answered)} of {mapped} answered"
            self.show(Scene(width, drawn.height, [whole], title=drawn.title))

    def _answered(self, kept: Mapping[str, Any]) -> Iterator[str]:
        done = {
            cell
            for plan in self._plans
            for section in plan.sections
            if any(task.cell in kept.get(plan.lab, {}) for task in section.tasks)
            for cell in section.cells
        }
        yield from (it.name for it in ideas().values() if it.map and it.cell in done)
