"""Progress in one lab, in a line of Markdown: what JupyterLab shows below the title of a lab.

**So far** 4 of 17 in this lab: ✓✗ · ✓▢ · ○▢ · ○. Next: [The offset](#The-offset).

✓ as predicted, or solved      ✗ it came out otherwise      ○ a question, ▢ an exercise: to do
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from widgets.progress.plan import LABS, LabPlan, LabTask, lab_plan
from widgets.progress.record import ProgressFile, Unusable

SO_FAR = "progress-so-far"  # the id of the cell in which JupyterLab shows it

Kept = Mapping[str, Any]  # of one lab, by cell


def put_in(notebook: dict[str, Any], progress: Path, lab: Path | None) -> None:
    """A cell below the title, with what the learner has done in this lab; none before the first
    answer, and none if it is no lab or asks nothing in cells of its own."""
    if lab is None:
        return
    try:
        labs = ProgressFile(progress).read()["labs"]
    except Unusable:  # Progress() says what is wrong with it
        return
    plan = lab_plan(LABS / lab.name)
    if labs and plan.tasks:
        told = progress_line(plan, labs.get(lab.stem, {}))
        facts = {"editable": False, "deletable": False}
        cell = {"cell_type": "markdown", "id": SO_FAR, "metadata": facts, "source": told}
        notebook["cells"].insert(1, cell)


def take_out(model: dict[str, Any]) -> None:
    """Of what the page saves, if that is a notebook."""
    if model.get("type") == "notebook" and "content" in model:
        cells = model["content"]["cells"]
        model["content"]["cells"] = [cell for cell in cells if cell.get("id") != SO_FAR]


def progress_line(plan: LabPlan, kept: Kept) -> str:
    done = sum(task.cell in kept for task in plan.tasks)
    marks = " · ".join(
        "".join(sign(task, kept.get(task.cell)) for task in section.tasks)
        for section in plan.sections
    )
    line = f"**So far** {done} of {len(plan.tasks)} in this lab: {marks}."
    left = [it for it in plan.sections if any(task.cell not in kept for task in it.tasks)]
    return f"{line} Next: [{left[0].title}](<#{left[0].anchor}>)." if left else line


def sign(task: LabTask, facts: Kept | None) -> str:
    if facts is None:
        return "○" if task.is_question else "▢"
    return "✓" if came_true(facts) else "✗"


def came_true(facts: Kept) -> bool:
    """It was predicted, a number nearly enough, or solved."""
    return bool(facts.get("right", facts.get("predicted") == facts.get("happened")))
