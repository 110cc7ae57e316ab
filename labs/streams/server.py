"""A database far away: one table of keys and values, reached over TCP. A process of its own.

    python -m streams.server PORT-FILE DELAY

    Mei                     get         >  16
    Mei 17                  put         >  ok

A line each way. DELAY: seconds that each answer takes more, as from another building. The table is
SQLite's, in memory; `ServedTable` can be used without a server as well.
"""

import os
import socketserver
import sqlite3
import sys
import time
from pathlib import Path

GET = "SELECT value FROM states WHERE key = ?"
PUT = "INSERT OR REPLACE INTO states VALUES (?, ?)"


class ServedTable:
    def __init__(self) -> None:
        self._base = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._base.execute("CREATE TABLE states (key TEXT PRIMARY KEY, value INTEGER)")

    def get(self, key: str) -> int:
        row = self._base.execute(GET, (key,)).fetchone()
        return int(row[0]) if row else 0

    def put(self, key: str, value: int) -> None:
        self._base.execute(PUT, (key, value))


class TableAnswers(socketserver.StreamRequestHandler):
    server: "TableServer"

    def handle(self) -> None:
        """One client, until it hangs up."""
        for line in self.rfile:
            key, *value = line.decode().split()
            if self.server.delay:
                time.sleep(self.server.delay)
            if value:
                self.server.table.put(key, int(value[0]))
            answer = "ok" if value else self.server.table.get(key)
            self.wfile.write(f"{answer}\n".encode())


class TableServer(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self, delay: float) -> None:
        self.delay, self.table = delay, ServedTable()
        super().__init__(("127.0.0.1", 0), TableAnswers)


if __name__ == "__main__":
    with TableServer(float(sys.argv[2])) as server:
        draft = Path(f"{sys.argv[1]}.new")
        draft.write_text(str(server.server_address[1]))
        os.replace(draft, sys.argv[1])  # nobody must read half of it
        server.serve_forever()
