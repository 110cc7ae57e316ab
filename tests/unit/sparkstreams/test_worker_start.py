"""Spark gives a query's process ten seconds to connect: it does so before it imports anything."""

import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sparkstreams import jvm, worker_start
from tests.limits import START_S

SECRET = "open sesame"
RUNNER = """\
import os, sys, time
assert "pyspark" in sys.modules  # it has been imported meanwhile
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
from pyspark.worker_util import get_sock_file_to_executor
with get_sock_file_to_executor() as file:
    file.write(file.read(4)[::-1])
    file.flush()
with get_sock_file_to_executor():
    pass
"""


@pytest.fixture
def python(tmp_path: Path) -> Iterator[Path]:
    """What Spark takes for Python."""
    scratch = jvm.make_home(tmp_path / "java")
    yield scratch.path / "bin" / "python"
    scratch.remove()


@pytest.fixture(params=[worker_start.PORT, worker_start.PATH])
def spark(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """The end of Spark: where it listens, and what it tells a process of that."""
    if request.param == worker_start.PORT:
        listener = socket.create_server(("127.0.0.1", 0))
        told = {worker_start.PORT: str(listener.getsockname()[1]), worker_start.SECRET: SECRET}
    else:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "sock"))
        listener.listen()
        told = {worker_start.PATH: str(tmp_path / "sock")}
    with listener:
        listener.settimeout(START_S)
        yield listener, told


@contextmanager
def started(python: Path, folder: Path, told: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    (folder / "some").mkdir()
    (folder / "some" / "runner.py").write_text(RUNNER)
    command = [python, "-m", "some.runner", folder / "go"]
    environment = {**os.environ, "PYTHONPATH": str(folder), **told}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def accept(listener: socket.socket, answer: bytes = b"ok") -> socket.socket:
    """As Spark greets a process: by its secret, if it has come by a port."""
    link, _ = listener.accept()
    link.settimeout(START_S)
    if link.family != socket.AF_UNIX:
        (length,) = struct.unpack(">i", link.recv(4, socket.MSG_WAITALL))
        assert link.recv(length, socket.MSG_WAITALL) == SECRET.encode()
        link.sendall(struct.pack(">i", len(answer)) + answer)
    return link


def test_it_connects_before_it_runs_and_the_runner_has_the_connection(python, spark, tmp_path):
    listener, told = spark
    with started(python, tmp_path, told) as process:
        with accept(listener) as link:
            (tmp_path / "go").touch()
            assert struct.unpack(">i", link.recv(4, socket.MSG_WAITALL)) == (process.pid,)
            link.sendall(b"ping")
            assert link.recv(4, socket.MSG_WAITALL) == b"gnip"
        with accept(listener) as another:
            assert struct.unpack(">i", another.recv(4, socket.MSG_WAITALL)) == (process.pid,)
        assert (process.communicate(timeout=START_S)[1], process.returncode) == ("", 0)


@pytest.mark.parametrize("spark", [worker_start.PORT], indirect=True)
def test_who_is_not_known_ends(python, spark, tmp_path):
    listener, told = spark
    with started(python, tmp_path, told) as process, accept(listener, b"err"):
        told = process.communicate(timeout=START_S)[1]
        assert told == "Spark does not know this process: it says b'err'\n"
        assert process.returncode == 1


def test_without_a_place_to_connect_to_it_is_python(python):
    command = [python, "-c", "import sys; print(sys.argv)", "a b", ""]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told == "['-c', 'a b', '']\n"


def test_nothing_is_imported_before_the_connection(python, spark, tmp_path):
    """Importing takes its time, and here it has no end."""
    listener, told = spark
    (tmp_path / "pyspark.py").write_text("import time\ntime.sleep(600)\n")
    with started(python, tmp_path, told) as process, accept(listener):
        assert process.poll() is None
