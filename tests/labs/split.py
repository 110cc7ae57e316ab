"""Makes the labs ready to be read by those who have not run them yet: no outcome is in a notebook.

    .venv/bin/python -m tests.labs.split                        all labs
    .venv/bin/python -m tests.labs.split labs/01_storage.ipynb

    labs/01_storage.ipynb ──┬──> labs/01_storage.ipynb          texts, code, situations
    as it was saved         └──> labs/.saved/01_storage.json    all other outputs (widgets/saved.py)

A term gets the sentence that the glossary has for it:

    [in sync](#term-isr) ──> [in sync](../docs/glossary.md#in-sync-replica "A replica that ...")

A notebook that is ready stays as it is, byte by byte. tests/labs/pictures.py does this for a lab
that it has run.

Invariant: no output is lost. A cell that has none in the notebook keeps what is saved beside it.
"""

import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4.rwbase import split_lines

from tests.labs.reader import LABS, Reader
from widgets.ideas.idea import ideas
from widgets.progress.plan import QUESTION
from widgets.saved import FOLDER, SITUATION, saved_outputs, saved_path, tells_no_outcome

UNCHOSEN = "You have not chosen an answer. "  # with which outcomes were saved before
IMPORT = ast.Import | ast.ImportFrom
TERM = re.compile(r'\]\((?:#term-|\.\./docs/glossary\.md#)([\w-]+)(?: "[^"]*")?\)')
HEADING = re.compile(r"^## ", re.MULTILINE)


def split(path: Path) -> None:
    reader = Reader(path)  # with what is saved beside it
    name_situations(reader.notebook)
    ask_in_words(reader)
    explain_terms(reader.notebook)
    write(path, reader.notebook)


def write(path: Path, notebook: Any) -> None:
    """The notebook, and beside it the outputs that tell an outcome."""
    known = saved_outputs(path)
    shown = split_lines(nbformat.from_dict(notebook))  # type: ignore[no-untyped-call]
    saved = {}
    for cell in filter(is_code, shown.cells):
        ran = cell.execution_count is not None or cell.outputs
        cell.execution_count = None
        if tells_no_outcome(cell):
            cell.execution_count = 0
            for output in cell.outputs:
                if "execution_count" in output:
                    output.execution_count = None
        elif ran or cell.id in known:
            saved[cell.id] = [in_order(without_complaint(output)) for output in cell.outputs]
            cell.outputs = []
    nbformat.write(shown, path)  # type: ignore[no-untyped-call]
    beside = saved_path(path)
    beside.parent.mkdir(exist_ok=True)
    beside.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def without_complaint(output: Any) -> Any:
    said = output.get("data", {}).get("text/plain")
    if said:
        output.data["text/plain"] = [line.removeprefix(UNCHOSEN) for line in said]
    return output


def in_order(output: Any) -> Any:
    """As nbformat writes it: a lab that is run again differs only in what came out otherwise."""
    return json.loads(json.dumps(output, sort_keys=True))


# -- which cells tell no outcome -----------------------------------------------------------------


def name_situations(notebook: Any) -> None:
    """Tag the questions; and the pictures that open a section, unless the author has tagged any."""
    openings = {cell.id for cell in notebook.cells if tells_no_outcome(cell) and not asks(cell)}
    openings = openings or set(pictures_before_questions(notebook))
    for cell in filter(is_code, notebook.cells):
        if (asks(cell) or cell.id in openings) and not tells_no_outcome(cell):
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), SITUATION]


def pictures_before_questions(notebook: Any) -> Iterator[str]:
    """In each section the pictures before its first question; before a lab's first one, all."""
    asked = False
    for section in sections(notebook):
        first = next((place for place, cell in enumerate(section) if asks(cell)), None)
        if first is not None or not asked:
            yield from (cell.id for cell in section[:first] if is_picture(cell))
        asked = asked or first is not None


def sections(notebook: Any) -> list[list[Any]]:
    found: list[list[Any]] = [[]]
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and HEADING.search(cell.source):
            found.append([])
        found[-1].append(cell)
    return found


def is_code(cell: Any) -> bool:
    return bool(cell.cell_type == "code")


def asks(cell: Any) -> bool:
    return is_code(cell) and QUESTION.fullmatch(cell.id) is not None


def is_picture(cell: Any) -> bool:
    return is_code(cell) and any("image/png" in it.get("data", {}) for it in cell.outputs)


def ask_in_words(reader: Reader) -> None:
    """A question that was saved as a picture is saved in words. Its cell is run, which needs no
    more than what is imported before it."""
    questions = [cell for cell in reader.cells if asks(cell)]
    if all("text/html" in it.get("data", {}) for cell in questions for it in cell.outputs):
        return
    sys.path.insert(0, str(reader.path.resolve().parent))
    for cell in reader.cells:
        if asks(cell):
            _, quiz = reader.run(cell)
            for output in cell.outputs:
                output.data = nbformat.from_dict(quiz.words())  # type: ignore[no-untyped-call]
            quiz.close()
        else:
            lines = [it for it in ast.parse(cell.source).body if isinstance(it, IMPORT)]
            exec(compile(ast.Module(lines, []), cell.id, "exec"), reader.names)
    sys.path.pop(0)


# -- terms ---------------------------------------------------------------------------------------


def explain_terms(notebook: Any) -> None:
    """A link to the glossary says what the term means when one points to it, also where nothing
    runs."""
    names = {idea.anchor: idea for idea in ideas().values()}
    names |= {idea.abbreviation.lower(): idea for idea in ideas().values() if idea.abbreviation}

    def explained(found: re.Match[str]) -> str:
        idea = names[found[1]]
        return f'](../docs/glossary.md#{idea.anchor} "{idea.words}")'

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = TERM.sub(explained, cell.source)


def main(paths: Iterable[Path]) -> None:
    for path in paths:
        split(path)
    for path in (LABS / FOLDER).glob("*.json"):  # of labs that have another name now
        if path.stem != "kraft" and not (LABS / f"{path.stem}.ipynb").exists():
            path.unlink()


if __name__ == "__main__":
    main(map(Path, sys.argv[1:]) if sys.argv[1:] else sorted(LABS.glob("*.ipynb")))
