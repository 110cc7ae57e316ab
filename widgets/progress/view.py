"""Progress: what the labs ask, and what of it the learner has answered and solved.

    01 · Storage: a log in files                              9 of 17
    ✓ ✗ ○   ✓ ▢   ○ ▢ ▢   ...        a circle: a question; a square: an exercise
    next: Segments                   the first section with something to do

    Progress()                       of the file that this lab writes
    Progress(Path("progress.json"))  of another one

A question counts when it was answered before its outcome, rightly or not.
"""

from collections.abc import Iterator
from pathlib import Path

from widgets.progress.line import Kept, came_true
from widgets.progress.picture import ProgressPicture
from widgets.progress.plan import LabPlan, LabSection, LabTask, lab_plans
from widgets.scene import ABOUT, UP_TO, Scene, SceneShape, circle, fit, group, rect, text, wrap

MARGIN, LINE = 16, 18
STEP, GAP = 20, 12  # px from a mark to the next, and more between two sections
ROW, NEXT = 24, 36  # px from a title to its marks, and from there to the next lab
BROKEN = {  # acts of ClusterView, for one and for several
    "kill": ("process killed", "processes killed"),
    "pause": ("process frozen", "processes frozen"),
    "cut": ("link cut", "links cut"),
    "slow": ("link slowed down", "links slowed down"),
    "fail_requests": ("broker that refused requests", "brokers that refused requests"),
    "drop_next_answer": ("answer lost", "answers lost"),
    "slow_coordinator": ("coordinator slowed down", "coordinators slowed down"),
}


class Progress(ProgressPicture):
    def __init__(self, path: Path | None = None) -> None:
        self._plans = lab_plans()
        super().__init__(path, "Progress")

    def draw(self) -> None:
        with self.lock:
            shapes, y = [], 26.0
            for plan in self._plans:
                row = LabRow(plan, self._kept["labs"].get(plan.lab, {}), self.width)
                shapes.append(group(plan.lab, 0, y, row.shapes))
                y += row.height
            for place, words in enumerate(self._sentences()):
                shapes.append(text(f"sentence {place}", MARGIN, y, words, look="small"))
                y += LINE
            done, all_tasks = self._counts()
            self.about = f"{done} of {all_tasks} questions and exercises"
            self.show(Scene(self.width, y, shapes, title=f"Progress: {self.about}"))

    def _counts(self) -> tuple[int, int]:
        tasks = [(plan.lab, task.cell) for plan in self._plans for task in plan.tasks]
        return sum(cell in self._kept["labs"].get(lab, {}) for lab, cell in tasks), len(tasks)

    def _sentences(self) -> list[str]:
        words = (
            "A circle is a question, a square an exercise. ✓: as you predicted, or solved. "
            "✗: it came out otherwise than you predicted, and you have seen why."
        )
        said = wrap(words, self.width - 2 * MARGIN, 12)
        broken = [
            f"{count:,} {BROKEN[act][count != 1]}"
            for act, count in self._kept["broken"].items()
            if act in BROKEN
        ]
        if broken:
            said += wrap(f"With the mouse: {', '.join(broken)}.", self.width - 2 * MARGIN, 12)
        return said


class LabRow:
    """One lab: its title and count, a mark for each task, and the section to go on with."""

    def __init__(self, plan: LabPlan, kept: Kept, width: float) -> None:
        self._plan, self._kept, self._width = plan, kept, width
        self._x, self._y = float(MARGIN), float(ROW)
        self.shapes = [*self._head(), *self._marks()]
        self.height = self._y + NEXT

    def _head(self) -> Iterator[SceneShape]:
        tasks = self._plan.tasks
        done = sum(task.cell in self._kept for task in tasks)
        title = fit(self._plan.title, self._width - 2 * MARGIN - 80, 14, bold=True)
        yield text("title", MARGIN, 0, title, look="head")
        look = "bold ok" if done == len(tasks) else "soft"
        yield text("count", self._width - MARGIN, 0, f"{done} of {len(tasks)}", UP_TO, look=look)

    def _marks(self) -> Iterator[SceneShape]:
        for section in self._plan.sections:
            wide = STEP * len(section.tasks)
            if self._x + wide > self._width - MARGIN and self._x > MARGIN:
                self._x, self._y = float(MARGIN), self._y + ROW
            for task in section.tasks:
                yield self._mark(section, task)
                self._x += STEP
            self._x += GAP
        open_ones = [
            it for it in self._plan.sections if any(t.cell not in self._kept for t in it.tasks)
        ]
        if open_ones and len(open_ones) < len(self._plan.sections):
            self._y += 22
            words = fit(f"next: {open_ones[0].title}", self._width - 2 * MARGIN, 12)
            yield text("next", MARGIN, self._y, words, look="small")

    def _mark(self, section: LabSection, task: LabTask) -> SceneShape:
        facts = self._kept.get(task.cell)
        right = facts is not None and came_true(facts)
        look = "out" if facts is None else "alive" if right else "down"
        kind = "a question" if task.is_question else "an exercise"
        shape = (
            circle("shape", 8, -4, 8, look=look)
            if task.is_question
            else rect("shape", 0, -12, 16, 16, 3, look=look)
        )
        inside = [shape]
        if facts is not None:
            sign, look = ("✓", "letter leader") if right else ("✗", "bold bad")
            inside.append(text("sign", 8, 0, sign, ABOUT, look=look))
        label = f"{section.title}, {kind}: {_words(facts)}"
        return group(task.cell, self._x, self._y, inside, label=label)


def _words(facts: Kept | None) -> str:
    if facts is None:
        return "still to do"
    if "solved" in facts:
        return f"solved on {facts['solved']}"
    asked, predicted, happened = (facts.get(name) for name in ("asked", "predicted", "happened"))
    if predicted == happened:
        return f"{asked} As you predicted: {happened}"
    return f"{asked} You predicted: {predicted}. What happened: {happened}"
