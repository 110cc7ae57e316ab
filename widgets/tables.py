"""Texts as tables: a file of tab-separated columns beside the module that uses it.

path            purpose
/brokers/ids    One ephemeral znode for each live broker. ...
"""

from pathlib import Path


def rows_of(module: str, name: str) -> list[list[str]]:
    """The rows of a table beside a module, without the one with the columns' names."""
    lines = Path(module).with_name(name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[1:]]
