"""What runs in a cage has what Binder gives it, and no more; and it is watched.

    2 GB of memory   by a control group where one may be made; what is used is measured anyway
    one core         by affinity, which Java respects and Python does not ask (Linux)
    nobody's rights  where root is who starts it; anyone else is no root already
    no Java          one that does not run stands first on the PATH

Memory is the sum of the shares that processes have (PSS): a page that four of them share counts a
quarter in each. Where there is no such figure, on macOS, it is what each has alone (USS).
"""

import os
import pwd
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil  # type: ignore[import-untyped]

from tests.binder.group import Group

MEMORY = 2 * 2**30  # what Binder gives
OFTEN = 0.5  # seconds between two looks
GRACE = 20  # seconds in which everything is gone that a command has started
NO_JAVA = "#!/bin/sh\nexit 127\n"
# How this machine reaches a package index, which is its own matter.
KEPT = re.compile(r"PIP_(?!NO_BINARY|TARGET)|(https?|no|all)_proxy$|SSL_CERT|REQUESTS_CA", re.I)


class Seen(NamedTuple):
    """What a command was like."""

    code: int | None  # None: it took too long
    seconds: float
    peak: int  # bytes
    javas: frozenset[str]  # the main classes of the JVMs that ran
    left: int  # processes that outlived it, and had to be killed
    killed: int  # processes that the kernel ended for want of memory


class Cage:
    """The limits; `run` carries a command out under them."""

    def __init__(self, folder: Path, memory: int = MEMORY) -> None:
        self.folder = folder
        self.memory = memory
        self.user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.core = max(os.sched_getaffinity(0)) if sys.platform == "linux" else None
        self.group = Group.make(f"brokerlab-binder-{os.getpid()}", memory)
        self.known: set[psutil.Process] = set()  # who is in it, as far as we have seen
        self.environment = {key: value for key, value in os.environ.items() if KEPT.match(key)} | {
            "PATH": f"{self._no_java()}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.make("tmp")),
        }

    def describe(self) -> list[str]:
        size = f"{self.memory / 2**30:.0f} GB of memory"
        return [
            f"{size}, held by a control group"
            if self.group
            else f"{size}: measured and judged; not held, for no control group may be made",
            f"core {self.core} alone"
            if self.core is not None
            else "all cores: this system has no affinity",
            f"as {self.user.pw_name}" if self.user else "as you: only root can be somebody else",
        ]

    def make(self, name: str) -> Path:
        """A folder that belongs to who works in the cage."""
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)
        return path

    def _no_java(self) -> Path:
        java = self.make("no-java") / "java"
        java.write_text(NO_JAVA)
        java.chmod(0o755)
        return java.parent

    def _enter(self) -> None:
        """In the child, before it becomes the command."""
        if self.group:
            self.group.join()
        if self.core is not None:
            os.sched_setaffinity(0, {self.core})
        if self.user:
            os.setgroups([])
            os.setgid(self.user.pw_gid)
            os.setuid(self.user.pw_uid)
        os.umask(0o022)

    def start(
        self, command: list[str], cwd: Path, log: Path, environment: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            child = subprocess.Popen(
                command,
                cwd=cwd,
                env=self.environment | (environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=self._enter,  # noqa: PLW1509 - there is no other thread
            )
        self.known.add(psutil.Process(child.pid))
        return child

    def run(
        self,
        command: list[str],
        cwd: Path,
        log: Path,
        environment: dict[str, str] | None = None,
        patience: float = 1800,
    ) -> Seen:
        """Carry it out, and watch all that is in the cage meanwhile."""
        others = self.inside()  # a server, which goes on
        before = self.group.killed() if self.group else 0
        began = time.monotonic()
        child = self.start(command, cwd, log, environment)
        peak, javas, seconds = 0, set[str](), 0.0
        while child.poll() is None and seconds < patience:
            inside = self.inside()
            peak = max(peak, sum(map(memory, inside)))
            javas |= set(filter(None, map(main_class, inside)))
            with suppress(subprocess.TimeoutExpired):
                child.wait(OFTEN)
            seconds = time.monotonic() - began
        code = child.returncode
        left = self.clear(others, GRACE if code is not None else 0)
        child.wait()
        killed = self.group.killed() - before if self.group else 0
        return Seen(code, seconds, peak, frozenset(javas), left, killed)

    def inside(self) -> set[psutil.Process]:
        """Who is in the cage. Without a group: those we started, and whom they were seen to."""
        if self.group:
            self.known = set()
            for number in self.group.members():
                with suppress(psutil.NoSuchProcess):
                    self.known.add(psutil.Process(number))
        else:
            for process in list(self.known):
                with suppress(psutil.NoSuchProcess):
                    self.known.update(process.children())
        return set(filter(alive, self.known))

    def used(self) -> int:
        """The memory of all who are in the cage, now."""
        return sum(map(memory, self.inside()))

    def clear(self, others: set[psutil.Process], grace: float) -> int:
        """Wait for all but these to go; how many had to be killed."""
        _, waited = psutil.wait_procs(self.inside() - others, timeout=grace)
        left = list(filter(alive, waited))
        for process in left:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, timeout=GRACE)
        return len(left)

    def close(self) -> None:
        self.clear(set(), 0)
        if self.group:
            self.group.remove()


def alive(process: psutil.Process) -> bool:
    """A zombie is not: it has ended, and only waits for somebody to take note."""
    with suppress(psutil.NoSuchProcess):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def memory(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        told = process.memory_full_info()
        return int(getattr(told, "pss", told.uss))
    return 0


def main_class(process: psutil.Process) -> str | None:
    """What a JVM runs: ZooKeeperServerMain, SparkSubmit."""
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        words = process.cmdline()
        if words and Path(words[0]).name == "java":
            found = [word for word in words if re.fullmatch(r"(\w+\.)+[A-Z]\w+", word)]
            return found[0].rpartition(".")[2] if found else None
    return None
