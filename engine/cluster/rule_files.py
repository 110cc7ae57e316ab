"""The file of a rule that a learner has written: each broker of a cluster loads it.

rules={"high-watermark": "my_rule.py"}     this file
rules={"high-watermark": Mine}             DIR/rules/high-watermark.py: the class, and the
                                           imports of the file or the cell in which it stands
"""

import ast
import inspect
import linecache
from collections.abc import Mapping
from pathlib import Path

from engine.errors import ApiException, ErrorCode


def rule_files(rules: Mapping[str, type | Path | str], directory: Path) -> dict[str, Path]:
    """By the name of the rule."""
    return {name: _file(name, rule, directory) for name, rule in rules.items()}


def _file(name: str, rule: type | Path | str, directory: Path) -> Path:
    if not isinstance(rule, type):
        return Path(rule).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}.py"
    path.write_text(_text(rule), encoding="utf-8")
    return path


def _text(rule: type) -> str:
    code = next((it.__code__ for it in vars(rule).values() if inspect.isfunction(it)), None)
    lines = linecache.getlines(code.co_filename) if code is not None else []
    tree = ast.parse("".join(lines))
    classes = [it for it in tree.body if isinstance(it, ast.ClassDef) and it.name == rule.__name__]
    if not classes:
        raise ApiException(
            ErrorCode.invalid_request,
            f"the text of {rule.__name__} is not known: write it to a file, and name the file",
        )
    imports = [it for it in tree.body if isinstance(it, ast.Import | ast.ImportFrom)]
    return "\n".join([*map(ast.unparse, imports), "\n", ast.unparse(classes[-1]), ""])
