"""A group whose members are processes, a writer that gives them something to read, and a judge.

    crew.join("ours"); crew.join("confluent")   and so on: each a process (member.py)
    crew.settle()                               every partition is owned by one of them
    crew.judge()                                whatever was acknowledged has been read

Invariant: what is judged was acknowledged by the brokers, and told by a member that read it.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Self

from confluent_kafka import KafkaError, Message, Producer

from engine.cluster.child import Child, end_all
from tests.interop.watch import until

ROOT = Path(__file__).resolve().parents[2]
PACE = 0.01  # seconds between two records of a writer
ENDING = 15.0  # seconds that members have to leave

_numbers = count()


class Member:
    def __init__(self, client: str, child: Child) -> None:
        self.client = client
        self.child = child

    def __repr__(self) -> str:
        return f"{self.client} owns {self.owned}"

    def lines(self, kind: str) -> list[str]:
        """What it said of one kind; a last line that is not ended may be half a one."""
        whole = self.child.output().rpartition("\n")[0].splitlines()
        return [rest for word, _, rest in (each.partition(" ") for each in whole) if word == kind]

    @property
    def owned(self) -> list[str]:
        said = self.lines("owns")
        return said[-1].split() if said else []

    @property
    def read(self) -> set[str]:
        return set(self.lines("read"))


class Writer:
    """Writes numbered values to all partitions in turn, until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self.acknowledged: set[str] = set()
        self._topic, self._partitions = topic, partitions
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "log_level": 2,
                "topic.metadata.refresh.interval.ms": 1000,
                "socket.timeout.ms": 3000,
            }
        )
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._ending.set()
        self._thread.join()
        assert self._producer.flush(30) == 0

    def _run(self) -> None:
        for number in count():
            self._producer.produce(
                self._topic,
                b"value-%d" % number,
                partition=number % self._partitions,
                on_delivery=self._note,
            )
            self._producer.poll(0)
            if self._ending.wait(PACE):
                return

    def _note(self, error: KafkaError | None, message: Message) -> None:
        """One that failed may be there or not: nobody has to have read it."""
        if error is None:
            self.acknowledged.add((message.value() or b"").decode())


class Crew:
    def __init__(self, bootstrap: str, topic: str, partitions: int, logs: Path) -> None:
        self.group = f"group-{next(_numbers)}"
        self.members: list[Member] = []  # that were not killed, and not sent away
        self._everyone: list[Member] = []
        self.shared = sorted(f"{topic}-{number}" for number in range(partitions))
        self._where = bootstrap, topic, logs
        self.writer = Writer(bootstrap, topic, partitions)

    def join(self, client: str, strategy: str, pattern: str = "") -> Member:
        bootstrap, topic, logs = self._where
        topic = pattern or topic
        what = ["-m", "tests.interop.member", client, bootstrap, self.group, topic, strategy]
        log = logs / f"{self.group}-{len(self._everyone)}-{client}.log"
        member = Member(client, Child([sys.executable, *what], log, cwd=ROOT))
        self.members.append(member)
        self._everyone.append(member)
        return member

    def kill(self, member: Member) -> None:
        member.child.kill()
        self.members.remove(member)

    def leave(self, member: Member) -> None:
        assert member.child.terminate(ENDING) == 0, member.child.output()[-2000:]
        assert member.lines("closed"), member.child.output()[-2000:]
        self.members.remove(member)

    @property
    def is_settled(self) -> bool:
        """Every partition has one owner; and, if there are enough for all, nobody has none."""
        for each in self.members:
            assert each.child.alive, each.child.output()[-2000:]
        shares = [each.owned for each in self.members]
        owned = sorted(each for share in shares for each in share)
        return owned == self.shared and (len(shares) > len(owned) or all(shares))

    def settle(self, patience: float = 30.0) -> None:
        try:
            until(lambda: self.is_settled, patience)
        except AssertionError as error:
            raise AssertionError(f"not settled: {self.members}") from error

    def unread(self) -> set[str]:
        read = {value for each in self._everyone for value in each.read}
        return self.writer.acknowledged - read

    def judge(self) -> None:
        """No record that was acknowledged has been passed over."""
        self.writer.stop()
        assert self.writer.acknowledged
        until(lambda: not self.unread())

    def end(self) -> None:
        """All in good order, however it went."""
        end_all([each.child for each in self._everyone], ENDING)
        for each in self.members:
            assert each.lines("closed"), f"{each} did not end: {each.child.output()[-2000:]}"


@contextmanager
def crew(*where: Any) -> Iterator[Crew]:
    with ExitStack() as stack:
        made = Crew(*where)
        stack.callback(made.end)
        stack.enter_context(made.writer)
        yield made
