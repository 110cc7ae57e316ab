"""A price list in SQLite: opened, changed by a stream of its changes, looked at.

SQLite stands in for MySQL (binlog) and Redis (AOF); the triggers that write down each change stand
in the notebook.
"""

import atexit
import sqlite3
from collections.abc import Iterable
from itertools import count
from pathlib import Path

from engine.cluster.scratch import Scratch
from streams.stand import TextRecord

_folders: list[Scratch] = []
_numbers = count(1)


def folder() -> Path:
    """A directory that goes with the kernel."""
    if not _folders or not _folders[0].path.exists():
        _folders[:] = [Scratch()]
        atexit.register(_folders[0].remove)
    return _folders[0].path


def opened() -> sqlite3.Connection:
    """A new database with an empty price list; it writes its own log (-wal) on the disk."""
    base = sqlite3.connect(folder() / f"shop-{next(_numbers)}", isolation_level=None)
    atexit.register(base.close)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute("CREATE TABLE prices (tea TEXT PRIMARY KEY, price INTEGER NOT NULL)")
    return base


def table(base: sqlite3.Connection) -> dict[str, int]:
    return dict(base.execute("SELECT tea, price FROM prices ORDER BY tea"))


def apply(changes: Iterable[TextRecord], base: sqlite3.Connection) -> None:
    """As a replica does: change by change."""
    for it in changes:
        if it.value is None:
            base.execute("DELETE FROM prices WHERE tea = ?", (it.key,))
        else:
            base.execute("INSERT OR REPLACE INTO prices VALUES (?, ?)", (it.key, int(it.value)))


def own_log(base: sqlite3.Connection) -> int:
    """Bytes that the database has written to its log on the disk."""
    path = Path(base.execute("PRAGMA database_list").fetchone()[2])
    return path.with_name(f"{path.name}-wal").stat().st_size
