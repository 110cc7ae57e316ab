"""A worked answer as the text of a cell: one function of labs/answers, with what it imports.

    from collections.abc import Sequence          only what the function itself uses


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

BEGIN, END = "# BEGIN SOLUTION", "# END SOLUTION"


def cell(module: Path, function: str, stub: str, call: str = "") -> str:
    """`stub` is the learner's cell: its function is replaced, or else `call` calls the answer."""
    text = module.read_text(encoding="utf-8")
    tree = ast.parse(text)
    found = next(it for it in tree.body if isinstance(it, ast.FunctionDef) and it.name == function)
    theirs = next((it for it in ast.parse(stub).body if isinstance(it, ast.FunctionDef)), None)
    parts = [imports(tree, found)]
    if theirs is None:
        parts += [marked(text, found, function), call]
    else:
        lines = stub.splitlines()
        parts[:0] = ["\n".join(lines[: theirs.lineno - 1]).strip()]
        parts += [marked(text, found, theirs.name), "\n".join(lines[theirs.end_lineno :]).strip()]
    return "\n\n\n".join(filter(None, parts))


def marked(text: str, function: ast.FunctionDef, name: str) -> str:
    """The function's own text, under another name, and its body between the two comments."""
    lines = text.splitlines()
    first = function.body[0].lineno
    head = lines[function.lineno - 1 : first - 1]
    head[0] = head[0].replace(f"def {function.name}(", f"def {name}(", 1)
    body = lines[first - 1 : function.end_lineno]
    return "\n".join([*head, f"    {BEGIN}", *body, f"    {END}"])


def imports(tree: ast.Module, function: ast.FunctionDef) -> str:
    """Those of the module's imports that the function needs."""
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    needed = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [it for it in node.names if (it.asname or it.name) in used]
            if node.names:
                needed.append(ast.unparse(node))
    return "\n".join(needed)
