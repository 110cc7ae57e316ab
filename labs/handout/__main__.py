"""python -m handout student DIR | answers DIR | marks DIR | exam SEED COUNT FILE | solutions SEED
COUNT FILE | exam-marks DIR (labs/ has to be on PYTHONPATH)

student    write the labs without answers into DIR, which is made anew: it is new, empty, or was
           written by this command
answers    write them with answers
marks      say what the notebooks in DIR have earned; a lab's name is in the name of each
exam       write the oracle's questions of this seed as a notebook without outcomes
solutions  write them with the right answers, and why
exam-marks say what the exams in DIR have earned
"""

import sys
from pathlib import Path

from handout import exam, folder, marks

ROOT = Path(__file__).resolve().parents[2]
MAKERS = {"student": folder.student, "answers": folder.answers}


def main(arguments: list[str]) -> int:
    match arguments:
        case [("student" | "answers") as kind, target]:
            MAKERS[kind](ROOT, Path(target))
            print(f"{target} is ready; its README.md says how it is started")
        case ["marks", target]:
            return _marks(Path(target))
        case ["exam" | "solutions", seed, _, _] if not seed.removeprefix("-").isdecimal():
            print(f"SEED is a whole number, and not {seed!r}", file=sys.stderr)
            return 2
        case ["exam" | "solutions", _, count, _] if not count.isdecimal() or int(count) < 1:
            print(f"COUNT is a number from 1 on, and not {count!r}", file=sys.stderr)
            return 2
        case [("exam" | "solutions") as kind, seed, count, file]:
            exam.write(Path(file), int(seed), int(count), solved=kind == "solutions")
            print(f"{file} is ready")
        case ["exam-marks", target]:
            print(exam.marks(Path(target)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def _marks(folder: Path) -> int:
    """Print the tables, and each notebook that is in none of them: no student is left out."""
    for path in marks.handed_in(folder):
        if marks.lab_of(path) is None:
            told = "no lab's name, such as 01_storage, is in this file's name"
            print(f"{told}: {path}", file=sys.stderr)
    if not (tables := marks.tables(folder)):
        print(f"no notebook of a lab in {folder}", file=sys.stderr)
        return 1
    print("\n\n".join(map(repr, tables)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
