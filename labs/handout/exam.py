"""An exam for a class: the oracle's questions as a notebook without outcomes, and its marks.

    exam_notebook(seed=7, count=20, solved=False)     questions, options, a cell for each answer
    exam_notebook(seed=7, count=20, solved=True)      with the right answers, and why
    marks(FOLDER)                                     what the notebooks in it have earned

A question has as many points as its level: 1, 2 or 3. The notebook remembers its seed, so marks
need nothing else: the questions are made once more, and their situations are run. What could not be
read earns nothing, and it is counted: the teacher can look at it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from string import ascii_uppercase as LETTERS
from typing import Any

import nbformat

from engine import Table
from handout.marks import returned
from oracle.exam import exam
from oracle.situation import OracleQuestion

FORMAT: Any = nbformat  # it has no types
KEY = "brokerlab_exam"  # in the notebook's metadata
# What stands behind answer_1 =, such as "B", "b)", 'B.' or B, and a comment; "": no answer yet.
ANSWER = re.compile(r"""(["']?)\s*(?:([A-Za-z])\s*[).]?)?\s*\1\s*(?:#.*)?""")
THE_FILE = "the file"  # is what could not be read
TITLE = """# What will happen?

Each question is a situation, and something that happens to it. Write the letter of your answer
between the quotes, `"B"` for instance, and save the notebook. A question has as many points as its
level; there are {points} in all. Nothing has to be run."""


def exam_notebook(seed: int, count: int, *, solved: bool) -> Any:
    questions = exam(seed, count)
    points = sum(question.level for question in questions)
    cells = [FORMAT.v4.new_markdown_cell(TITLE.format(points=points), id="title")]
    for number, question in enumerate(questions, 1):
        cells += _question(number, question, solved)
    metadata = {KEY: {"seed": seed, "questions": count}}
    return FORMAT.v4.new_notebook(cells=cells, metadata=metadata)


def write(path: Path, seed: int, count: int, *, solved: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    FORMAT.write(exam_notebook(seed, count, solved=solved), path)


def _question(number: int, question: OracleQuestion, solved: bool) -> Iterator[Any]:
    counted = f"{question.level} point{'s' * (question.level > 1)}"
    options = [f"- **{LETTERS[place]}** {it.text}" for place, it in enumerate(question.options)]
    table = [] if question.table is None else [f"```\n{question.table}\n```"]
    parts = [f"## {number}. {question.idea} ({counted})", "\n".join(question.facts), *table]
    parts += [f"**Now:** {question.happens}", f"**{question.asks}**", "\n".join(options)]
    yield FORMAT.v4.new_markdown_cell("\n\n".join(filter(None, parts)), id=f"question-{number}")
    letter = LETTERS[question.right] if solved else ""
    metadata = {"nbgrader": _grade(number, question.level)}
    yield FORMAT.v4.new_code_cell(
        f'answer_{number} = "{letter}"', id=f"answer-{number}", metadata=metadata
    )
    if solved:
        yield FORMAT.v4.new_markdown_cell(question.verdict(question.right), id=f"why-{number}")


def _grade(number: int, points: int) -> dict[str, Any]:
    """As nbgrader has a cell that a person grades."""
    kind = {"grade": True, "solution": True, "locked": False, "task": False}
    return {"schema_version": 3, "grade_id": f"answer-{number}", "points": points, **kind}


# -- what they have earned ---------------------------------------------------------------------


def marks(folder: Path) -> Table:
    """A row for each notebook of an exam in this folder, and for each that is damaged."""
    made: dict[tuple[int, int], list[OracleQuestion]] = {}
    rows = list[tuple[object, ...]]()
    for path, notebook in returned(folder):
        if notebook is None:
            rows.append((path, None, None, None, THE_FILE))
            continue
        known = notebook.metadata.get(KEY)
        if known is None:
            continue
        key = int(known["seed"]), int(known["questions"])
        if key not in made:
            made[key] = exam(*key)
        given = [_given(notebook, number) for number in range(1, len(made[key]) + 1)]
        earned = [
            question.level
            for question, letter in zip(made[key], given, strict=True)
            if letter == LETTERS[question.right]
        ]
        whole = sum(question.level for question in made[key])
        rows.append((path, sum(earned), whole, len(earned), given.count(None)))
    return Table("notebook, points, of, right answers, not read", rows)


def _given(notebook: Any, number: int) -> str | None:
    """The letter of an answer; "" if there is none yet, None if it cannot be read."""
    own = [cell for cell in notebook.cells if cell.get("id") == f"answer-{number}"]
    text = "\n".join(cell.source for cell in own or notebook.cells)
    lines = re.findall(rf"^[ \t]*answer_{number}[ \t]*=(?!=)[ \t]*(.*)$", text, re.MULTILINE)
    found = ANSWER.fullmatch(lines[-1]) if lines else None
    return found and (found[2] or "").upper()
