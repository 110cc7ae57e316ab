"""The engine beside itself at another commit: python -m bench.checkout ../before

`../before` is a second checkout of this repository, in which `make setup` was run. Its brokers and
clients are started with its own Python; the loads are the same, in turn, round after round:

    produce, consume, latency    one broker, confluent-kafka, as in `make bench`
    ... three replicas           three brokers, acks=all
    own producer, own consumer   the client of each checkout, on one broker of this one
    own group                    three members of each checkout's consumer; a fourth comes and goes

The ratio is how many times as fast this checkout is: below 0.9, a change has cost something.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from bench.peers.kafka import KafkaPeer
from bench.peers.peer import PATIENCE, Load, Size
from bench.rounds import measure, ratios
from bench.table import ratio_table

CLIENT = Path(__file__).with_name("own_client.py")
HERE, BEFORE = "this checkout", "the other"


class Checkout(KafkaPeer):
    """The brokers of one checkout."""

    def __init__(self, name: str, python: Path, brokers: int) -> None:
        self.name, self._python, self._brokers = name, python, brokers

    def start(self, home: Path) -> None:
        command = [self._python, "-m", "engine", "cluster", "--port", "0"]
        command += ["--brokers", str(self._brokers), "--data", home]
        command += ["--config", f"default.replication.factor={self._brokers}"]
        # In this directory `-m engine` would be the engine of this checkout for both.
        self._process = subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("ready "):
                self.bootstrap = line.split()[1].removeprefix("bootstrap=")
                return
        raise RuntimeError(f"{self.name}: the cluster did not start")

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)

    def loads(self, size: Size) -> dict[str, Load]:
        if self._brokers == 1:
            return super().loads(size)
        return {f"{name}, three replicas": it for name, it in self.columns(size).items()}


class OwnClient(KafkaPeer):
    """The client of one checkout, on a broker that is there."""

    def __init__(self, name: str, python: Path, bootstrap: str) -> None:
        self.name, self._python, self.bootstrap = name, python, bootstrap

    def start(self, home: Path) -> None: ...

    def stop(self) -> None: ...

    def loads(self, size: Size) -> dict[str, Load]:
        records = str(size.records // 2)
        return {
            "own producer": lambda: self._run("produce", records),
            "own consumer": lambda: self._run("consume", records),
            "own group": lambda: self._run("group", "12"),
        }

    def _run(self, what: str, count: str) -> float:
        topic = f"{what}-{self.name.replace(' ', '-')}"
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        if topic not in admin.list_topics(timeout=PATIENCE).topics:
            (made,) = admin.create_topics([NewTopic(topic, 12 if what == "group" else 1)]).values()
            made.result(PATIENCE)
        command: Sequence[str | Path] = [self._python, CLIENT, what, self.bootstrap, topic, count]
        run = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=5 * PATIENCE
        )
        if run.returncode:
            raise RuntimeError(f"{self.name}, {what}: {run.stderr}")
        return float(run.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.checkout", description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=Path, help="the other checkout")
    parser.add_argument("--records", type=int, default=200_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT", help="loads with TEXT in their name")
    options = parser.parse_args()
    before = (options.checkout / ".venv/bin/python").absolute()
    here = Path(sys.executable)
    size, found = Size(options.records), {}
    for brokers in (1, 3):
        with ExitStack() as stack:
            pair = [Checkout(HERE, here, brokers), Checkout(BEFORE, before, brokers)]
            for each in pair:
                home = stack.enter_context(tempfile.TemporaryDirectory())
                each.start(Path(home))
                stack.callback(each.stop)
            found |= measure(pair, size, options.rounds, progress, only=options.only)
            if brokers == 1:
                own = [
                    OwnClient(HERE, here, pair[0].bootstrap),
                    OwnClient(BEFORE, before, pair[0].bootstrap),
                ]
                found |= measure(own, size, options.rounds, progress, only=options.only)
    print(ratio_table(ratios(found, HERE)))


def progress(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
