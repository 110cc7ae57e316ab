"""A standalone Spark cluster on this machine: a master and workers, all real processes.

    with SparkCluster(workers=2) as spark_cluster:         master   spark://127.0.0.1:PORT
        os.environ["SPARK_MASTER"] = spark_cluster.url       ├── worker 1 ──> an executor
        spark = session.start()                              └── worker 2 ──> ...

    DIR/master.log   DIR/worker-1.log   DIR/worker-1/...   logs and working directories

The driver runs in the notebook; its tasks run in the executors, one for each worker and
application. All of it is part of PySpark: nothing is downloaded or installed. If a worker is
killed, its executor ends too, and its tasks run on another worker.

Invariant: no process outlives the parent. A worker's executors are in its process group, which ends
with the lifeline (engine/cluster/child.py).
"""

import subprocess
import time
from typing import Self

from engine.cluster import java
from engine.cluster.child import Child, end_all
from engine.cluster.ports import HOST, free_port
from engine.errors import ApiException, ErrorCode
from sparkstreams import jvm

DEPLOY = "org.apache.spark.deploy"
MASTER, WORKER = f"{DEPLOY}.master.Master", f"{DEPLOY}.worker.Worker"
ELECTED = "New state: ALIVE"
REGISTERED = "Successfully registered with master"
FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
START_TIMEOUT = 120.0  # seconds
STOP_TIMEOUT = 5.0  # seconds for all of them to end by themselves


class SparkCluster:
    """A master and its workers; as a context manager, started and stopped by the block."""

    def __init__(self, workers: int = 2, *, cores: int = 1, memory: str = "512m") -> None:
        self.workers: dict[int, Child] = {}
        self.url = ""
        self._size = workers
        self._cores = cores
        self._memory = memory  # of a worker: room for one executor of a session of that size
        self._master: Child | None = None

    def start(self) -> Self:
        """Returns once every worker is known to the master."""
        self._home = jvm.make_home(java.find())
        try:
            port = free_port()
            self.url = f"spark://{HOST}:{port}"
            self._master = self._child("master", MASTER, "--port", str(port))
            _await(self._master, ELECTED)
            for number in range(1, self._size + 1):
                self._launch(number)
            for child in self.workers.values():
                _await(child, REGISTERED)
        except BaseException:
            self.stop()
            raise
        return self

    def kill(self, worker: int) -> None:
        """SIGKILL, as when its machine crashes: its executors end by themselves."""
        self.workers[worker].kill()

    def restart(self, worker: int) -> None:
        self._launch(worker)
        _await(self.workers[worker], REGISTERED)

    def executors(self, worker: int) -> list[int]:
        """Process ids of the executors that a worker has started."""
        parent = str(self.workers[worker].pid)
        output = subprocess.run(
            ["ps", "-A", "-ww", "-o", "ppid=,pid=,args="],
            capture_output=True,
            text=True,
            check=True,
        )
        found = (line.split(None, 2) for line in output.stdout.splitlines())
        return [int(pid) for ppid, pid, args in found if ppid == parent and "Executor" in args]

    def stop(self) -> None:
        running = [*self.workers.values(), *([self._master] if self._master else [])]
        end_all([child for child in running if child.alive], STOP_TIMEOUT)
        self.workers.clear()
        self._master = None
        self._home.remove()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _launch(self, number: int) -> None:
        name = f"worker-{number}"
        size = ["--cores", str(self._cores), "--memory", self._memory]
        place = ["--work-dir", str(self._home.path / name)]
        self.workers[number] = self._child(name, WORKER, *size, *place, self.url)

    def _child(self, name: str, main: str, *arguments: str) -> Child:
        home = self._home.path
        return Child(
            [home / "spark" / "bin" / "spark-class", main, *SHARED, *arguments],
            home / f"{name}.log",
            cwd=home,
            env=jvm.variables(home)
            | {
                "SPARK_LOCAL_IP": HOST,
                "SPARK_LOCAL_DIRS": f"{home}/tmp",
                "SPARK_DAEMON_MEMORY": "128m",
                "SPARK_DAEMON_JAVA_OPTS": FLAGS,
            },
            keep=[self._home.end],
        )


SHARED = ("--host", HOST, "--webui-port", "0")


def _await(child: Child, words: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while words not in child.output():
        if not child.alive or time.monotonic() > deadline:
            end = "\n".join(child.output().splitlines()[-15:])
            raise ApiException(
                ErrorCode.unknown_server_error,
                f"{child.log.stem} of the Spark cluster did not start:\n{end}",
            )
        time.sleep(0.05)
