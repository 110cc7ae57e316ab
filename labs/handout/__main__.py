"""python -m handout student DIR | answers DIR | marks DIR | exam SEED COUNT FILE | solutions SEED
COUNT FILE | exam-marks DIR (labs/ has to be on PYTHONPATH)

student    write the labs without answers into DIR, which is made anew
answers    write them with answers
marks      say what the notebooks in DIR have earned
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
        case ["marks", target] if tables := marks.tables(Path(target)):
            print("\n\n".join(map(repr, tables)))
        case ["marks", target]:
            print(f"no notebook of a lab in {target}", file=sys.stderr)
            return 1
        case [("exam" | "solutions") as kind, seed, count, file]:
            exam.write(Path(file), int(seed), int(count), solved=kind == "solutions")
            print(f"{file} is ready")
        case ["exam-marks", target]:
            print(exam.marks(Path(target)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
