"""python -m handout student DIR | answers DIR | marks DIR (labs/ has to be on PYTHONPATH)

student    write the labs without answers into DIR, which is made anew
answers    write them with answers
marks      say what the notebooks in DIR have earned
"""

import sys
from pathlib import Path

from handout import folder, marks

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
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
