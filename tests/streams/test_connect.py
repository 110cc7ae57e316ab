"""The same pipeline on a server that drives by itself: Spark Connect, from PySpark's own files."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.cluster import java
from engine.cluster.child import Child, end_all
from engine.cluster.ports import HOST, free_port
from sparkstreams import jvm, session
from tests.interop.watch import until
from tests.streams.table_stories import SLOW, put

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[2]
ATTEMPTS = 3
TOO_SLOW = (
    "Python worker failed to connect back"  # Spark waits ten seconds, which no setting changes
)
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture
def server() -> Iterator[str]:
    """Its address."""
    home, port = jvm.make_home(java.find()), free_port()
    binding = "spark.connect.grpc.binding"
    settings = session.settings("server", "local[2]") | {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": " ".join(session.JAVA_OPTIONS),
        f"{binding}.address": HOST,
        f"{binding}.port": str(port),
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    start = [home.path / "spark" / "bin" / "spark-submit", "--master", "local[2]"]
    child = Child(
        [*start, "--class", SERVER, *conf, "spark-internal"],
        home.path / "connect.log",
        cwd=home.path,
        env=jvm.variables(home.path)
        | {
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": f"{home.path}/tmp",
            "PYSPARK_PYTHON": sys.executable,
        },
        keep=[home.end],
    )
    try:
        until(lambda: "Connect server started" in child.output() or not child.alive, SLOW)
        assert child.alive, child.output()[-2000:]
        yield f"sc://{HOST}:{port}"
    finally:
        end_all([child], 5.0)
        home.remove()


def test_a_pipeline_gives_on_a_server_what_it_gives_here(cluster, new_topic, tmp_path, server):
    source = new_topic()
    for number in range(40):
        put(cluster, source, (("ann", "bob", "eve")[number % 3], {"price": number}))
    for attempt in range(ATTEMPTS):
        place = tmp_path / f"checkpoint-{attempt}"
        client = subprocess.run(
            [
                sys.executable,
                *("-m", "tests.streams.connected"),
                *(cluster.bootstrap, source, new_topic(), str(place)),
            ],
            env={k: v for k, v in os.environ.items() if k != "SPARK_MASTER"}
            | {"SPARK_REMOTE": server},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if TOO_SLOW not in client.stderr:
            break
    assert client.returncode == 0, client.stderr
    assert client.stderr == ""  # no setting that a server refuses
    told = json.loads(client.stdout)
    counts = [["ann", 14], ["bob", 13], ["eve", 13]]
    assert told.pop("client").startswith("pyspark.sql.connect.")
    assert told.pop("epochs") >= 3  # ten records a time, of either partition
    assert told.pop("written") > len(counts)  # each epoch told what it had changed
    assert told == {"batch": counts, "topic": counts, "table": counts, "waits": 0}
