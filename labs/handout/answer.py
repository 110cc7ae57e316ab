"""A worked answer as the text of a cell: a function or class of labs/answers, with its imports.

    from collections.abc import Sequence          only what the answer itself uses


    def my_kept(keys: Sequence[str]) -> ...       the name that the cell has for it
        # BEGIN SOLUTION
        return sorted(...)
        # END SOLUTION


    compacted.run(my_kept)                        what else stands in the cell

The two comments are what nbgrader and Otter look for when they take answers out. They stand inside
the function, so that what is left without them can still be run.
"""

import ast
from pathlib import Path
from typing import TypeAlias

Answer: TypeAlias = ast.FunctionDef | ast.ClassDef
BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"


def cell(module: Path, answer: str, stub: str, call: str = "") -> str:
    """`stub` is the learner's cell: its function or class is replaced, or else `call` calls the
    answer."""
    text = module.read_text(encoding="utf-8")
    tree = ast.parse(text)
    found = next(it for it in tree.body if isinstance(it, Answer) and it.name == answer)
    theirs = next((it for it in ast.parse(stub).body if isinstance(it, Answer)), None)
    parts = [imports(tree, found)]
    if theirs is None:
        parts += [marked(text, found, answer), call]
    else:
        lines = stub.splitlines()
        parts[:0] = ["\n".join(lines[: theirs.lineno - 1]).strip()]
        parts += [marked(text, found, theirs.name), "\n".join(lines[theirs.end_lineno :]).strip()]
    return "\n\n\n".join(filter(None, parts))


def marked(text: str, answer: Answer, name: str) -> str:
    """The answer's own text, under another name, and its body between the two comments."""
    lines = text.splitlines()
    first = answer.body[0].lineno
    head = lines[answer.lineno - 1 : first - 1]
    head[0] = head[0].replace(f" {answer.name}", f" {name}", 1)
    body = lines[first - 1 : answer.end_lineno]
    return "\n".join([*head, f"    {BEGIN}", *body, f"    {END}"])


def imports(tree: ast.Module, answer: Answer) -> str:
    """Those of the module's imports that the answer needs."""
    used = {node.id for node in ast.walk(answer) if isinstance(node, ast.Name)}
    needed = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [it for it in node.names if (it.asname or it.name) in used]
            if node.names:
                needed.append(ast.unparse(node))
    return "\n".join(needed)
