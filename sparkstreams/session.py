"""A small Spark session for a notebook, started by the same call wherever Spark runs.

    start(say=print)                      on this machine, in one JVM of 512 MB heap
    SPARK_MASTER=spark://host:7077        on a cluster of workers; the driver is on this machine
    SPARK_REMOTE=sc://host:15002          on a server that has the driver too (Spark Connect)

A pipeline is the same in all three cases. The workers of a cluster, or the server, need the same
version of this package. On a server only the settings are set that a session may set there.

`CONFIG` has the settings that differ from Spark's defaults, each with its reason.
"""

import importlib
import importlib.util
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from engine.cluster import resources
from engine.errors import ApiException, ErrorCode
from sparkstreams import jvm, register

Conf = dict[str, str]
STATE = "spark.sql.streaming.stateStore"
CONFIG = {
    "spark.ui.enabled": "false",  # a web server, and a third of the memory for its history
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",  # no Hive, no Derby files beside the notebook
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",  # 200 are for big clusters: each is a state store
    "spark.default.parallelism": "2",
    "spark.network.maxRemoteBlockSizeFetchToMem": "64m",  # below MaxDirectMemorySize
    "spark.locality.wait": "0s",  # no worker is nearer to a topic than another
    "spark.python.daemon.module": "sparkstreams.daemon",  # workers begin with a client imported
    "spark.sql.adaptive.enabled": "false",  # plans two small partitions no better; streams can't
    # State in RocksDB: on disk, not in the heap; a batch uploads its changes, not all its files.
    f"{STATE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{STATE}.rocksdb.boundedMemoryUsage": "true",
    f"{STATE}.rocksdb.maxMemoryUsageMB": "64",
}
STATIC = frozenset({"spark.sql.catalogImplementation"})  # of all sessions of a JVM
# When Spark runs on this machine only, it listens on loopback only.
NEAR = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
JAVA_OPTIONS = (
    "-XX:+UseSerialGC",  # one small heap needs no collector threads
    "-XX:TieredStopAtLevel=1",  # compile quickly rather than well: a lab is cold most of the time
    "-XX:ReservedCodeCacheSize=96m",
    "-XX:MaxDirectMemorySize=128m",
    "-XX:-UsePerfData",  # leaves nothing in /tmp
)
CONNECT = ("grpc", "grpc_status", "google.rpc", "pandas", "pyarrow")  # what its client imports


def start(
    name: str = "brokerlab",
    *,
    memory: str = "512m",  # the heap's limit; beside it the JVM needs some 250 MB
    say: Callable[[str], None] | None = None,  # called with a line about each step of the start
    **conf: str,  # Spark's own keys, over ours
) -> SparkSession:
    """The session of this process: a new one, or the one that runs already."""
    report = say or (lambda text: None)
    remote = os.environ.get("SPARK_REMOTE", "")
    master = os.environ.get("SPARK_MASTER", "local[*]")
    if remote:
        _need_connect()
    chosen = settings(name, remote or master, conf)
    if not jvm.running() and not remote.startswith("sc://"):
        report(f"starting Java for Spark, with a heap of {memory}")
        resources.check(resources.SPARK, Path(tempfile.gettempdir()))
        with resources.refusals(resources.SPARK.what):
            jvm.launch(_launching(memory) | chosen)
    report(f"starting Spark on {remote or master}")
    builder = SparkSession.builder
    for key, value in chosen.items():
        builder = builder.config(key, value)
    if not remote:
        builder = builder.master(master)
    with _interrupts_kept():
        spark = builder.getOrCreate()
    if not remote:
        spark.sparkContext.setLogLevel("WARN")
    # An SQL error raises an exception with the whole message; this logger would repeat it.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    register(spark)
    report(f"Spark {pyspark.__version__} is ready")
    return spark


def stop(spark: SparkSession) -> None:
    """End the session and its JVM; nothing of them is left."""
    for query in spark.streams.active:
        query.stop()
    spark.stop()
    jvm.end()


def settings(name: str, master: str, conf: Mapping[str, str] = MappingProxyType({})) -> Conf:
    """The settings of a session; for a server, only those that a session may set there."""
    if master.startswith("sc://"):
        allowed = [it for it in CONFIG if it.startswith("spark.sql.") and it not in STATIC]
        return {key: CONFIG[key] for key in allowed} | dict(conf)
    near = master.startswith("local") or "127.0.0.1" in master
    return CONFIG | (NEAR if near else {}) | {"spark.app.name": name} | dict(conf)


def _launching(memory: str) -> dict[str, str]:
    """Settings that only count when a JVM starts."""
    return {
        "spark.driver.memory": memory,
        jvm.OPTIONS: " ".join(JAVA_OPTIONS),
        "spark.executor.memory": memory,  # on a cluster; here the driver is the executor
        "spark.executor.extraJavaOptions": " ".join(JAVA_OPTIONS),
    }


def _need_connect() -> None:
    missing = [name for name in CONNECT if not _there(name)]
    if missing:
        raise ApiException(
            ErrorCode.invalid_config,
            f"SPARK_REMOTE needs Spark Connect's client, and {', '.join(missing)} is missing: "
            "pip install 'pyspark[connect]', or unset SPARK_REMOTE",
        )


def _there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Keep the signal handler: Spark's own would cancel all jobs, also of streams, on SIGINT."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler: Any = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
