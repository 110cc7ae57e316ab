"""Lines of an article, typed into a shell in a directory like Kafka's.

    shell = books.new_shell()
    shell.run("bin/kafka-topics.sh --list --zookeeper localhost:2181")      Typed(done, printed)
    shell.start("bin/kafka-server-start.sh config/server.properties")       in the background

A line is typed as it stands; only the ports of the article become those of the directory.
Invariant: what was started in the background ends with `close`, and with the directory.
"""

import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten
from typing import NamedTuple

from kazoo.client import KazooClient
from lab import until

from engine import KafkaHome, Table
from engine.cluster.ports import HOST, free_port
from engine.storage.batch import scan

PATIENCE = 120.0  # seconds for a command
_open: list["ArticleShell"] = []


def new_shell() -> "ArticleShell":
    """In a new directory with bin/ and config/; the one before is closed."""
    close()
    _open.append(ArticleShell(KafkaHome().start()))
    return _open[0]


def close() -> None:
    while _open:
        _open.pop().close()


class Typed(NamedTuple):
    """What became of a line."""

    done: bool  # its exit code was 0
    printed: str

    @property
    def lines(self) -> list[str]:
        """What it printed, but for warnings that an option is deprecated."""
        return [it for it in self.printed.splitlines() if not it.startswith("Warning: ")]

    @property
    def last(self) -> str:
        """The last line that it printed, without the name of the program."""
        line = (self.printed.strip().splitlines() or [""])[-1]
        return line.removeprefix("python -m engine: ").removeprefix(
            "it has ended: python -m engine: "
        )


class ArticleShell:
    def __init__(self, home: KafkaHome) -> None:
        self.home, self.path = home, home.path
        self._started: list[subprocess.Popen[str]] = []

    def run(self, line: str, given: str = "") -> Typed:
        """Type a line, and what comes on its standard input; wait for its end."""
        done = subprocess.run(
            self._line(line),
            shell=True,
            cwd=self.path,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return Typed(done.returncode == 0, done.stdout)

    def start(self, line: str) -> Typed:
        """Type a line in a second terminal; return when the broker is ready, or has ended."""
        output = self.path / f"terminal-{len(self._started)}.txt"
        log = self.path / "logs" / "server.log"
        before = log.stat().st_size if log.exists() else 0
        with output.open("w") as printed:
            process = subprocess.Popen(
                ["/bin/sh", "-c", self._line(line)],
                cwd=self.path,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        self._started.append(process)

        def ready() -> bool:
            return log.exists() and b"ready broker=" in log.read_bytes()[before:]

        until("the broker", lambda: ready() or process.poll() is not None)
        return Typed(process.poll() is None, output.read_text())

    def children(self, path: str) -> list[str]:
        """The names below a path in ZooKeeper."""
        client = KazooClient(self.home.zookeeper)
        client.start()
        try:
            return sorted(client.get_children(path))
        finally:
            client.stop()
            client.close()

    def folders(self, directory: str, topic: str) -> list[str]:
        """The folders of a topic's partitions there."""
        return sorted(it.name for it in (self.path / directory).glob(f"{topic}-*"))

    def records(self, topic: str) -> int:
        """How many records the topic has."""
        logs = [each.read_bytes() for each in self.path.glob(f"logs/{topic}-*/*.log")]
        return sum(header.count for data in logs for _, header in scan(data))

    def set_line(self, file: str, key: str, line: str) -> None:
        """In a file of properties: this line instead of the one with that key."""
        path = self.path / file
        lines = path.read_text().splitlines()
        changed = [line if it.partition("=")[0].strip() == key else it for it in lines]
        path.write_text("".join(f"{it}\n" for it in changed))

    def close(self) -> None:
        """Stop the servers, and remove the directory if it is a temporary one."""
        self.home.stop()
        for process in self._started:
            process.wait(PATIENCE)

    def _line(self, line: str) -> str:
        ports = {"localhost:2181": self.home.zookeeper, "localhost:9092": self.home.bootstrap}
        for article, here in ports.items():
            line = line.replace(article, here)
        return line


def free_address() -> str:
    """For another broker."""
    return f"{HOST}:{free_port()}"


def archive(folder: Path, name: str) -> Path:
    """A small archive that has the form of Kafka's: one folder with its own name, and all in it."""
    path = folder / f"{name}.tgz"
    folder.mkdir(exist_ok=True)
    with tarfile.open(path, "w:gz") as packed:
        packed.add(folder.parent / "config", f"{name}/config")
    return path


def shown(typed: Mapping[str, Typed], wide: int = 90) -> Table:
    """What each line came to, in a table; a long answer ends at a word."""
    rows = [
        (
            it,
            "done" if each.done else "failed",
            shorten(each.last, wide, placeholder=" …", break_on_hyphens=False),
        )
        for it, each in typed.items()
    ]
    return Table("line, result, what it says last", rows)
