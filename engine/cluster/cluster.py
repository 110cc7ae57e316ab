"""A cluster on this machine: a ZooKeeper, and one operating-system process per broker.

    DIR/zookeeper/     ZooKeeper's znodes and log
    DIR/broker-1/      a broker's log directory, its broker.pid and its broker.log
    DIR/broker-2/ ...

    with Cluster(brokers=3) as cluster:
        cluster.kill(2)
        cluster.state().partitions
        cluster.restart(2)

Everything listens on 127.0.0.1. Without a directory of its own a cluster lives in a temporary
one, which goes with it. Nothing outlives the process that made the cluster (child.py, scratch.py).

A fault is real, and so is its cure: kill is SIGKILL, pause is SIGSTOP, and a broker comes back by
the command that started it, on the same port and directory. What is cut or slowed stays so, also
for a broker that is down meanwhile, until `heal`.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from engine.cluster import room
from engine.cluster.child import Child, end_all
from engine.cluster.clients import NONE, Clients
from engine.cluster.faults import End, Faults
from engine.cluster.files import TRACK as FILES
from engine.cluster.files import Files, Wish
from engine.cluster.node import Node
from engine.cluster.observer import Observer
from engine.cluster.recording import NONE as NO_TRACKS
from engine.cluster.recording import Recorder, Track
from engine.cluster.scratch import Scratch
from engine.cluster.state import ClusterState, Status
from engine.cluster.stream import Happened
from engine.cluster.view import Member
from engine.cluster.znodes import Znodes
from engine.cluster.zookeeper import Zookeeper
from engine.errors import ErrorCode, KafkaError
from engine.links import ZOOKEEPER
from engine.wire.apis import Api

if TYPE_CHECKING:
    from engine.client.admin.client import AdminClient
    from engine.client.consumer import Consumer
    from engine.client.producer import Producer

STOP_TIMEOUT = 30.0  # seconds for brokers to hand over what they lead, and to close their logs
HASTE = 3.0  # the same, where nothing is worth keeping
PAUSE = 0.02  # seconds between two looks


class Cluster:
    def __init__(
        self,
        brokers: int = 1,
        *,
        port: int = 0,
        data: Path | str | None = None,
        zookeeper: str | None = None,
        config: Mapping[str, str] | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`port` is the first broker's, the others follow; 0 takes free ones.

        `report` is told what is being waited for.
        """
        if brokers < 1:
            raise KafkaError(ErrorCode.invalid_config, f"a cluster has brokers, not {brokers}")
        self._scratch = Scratch() if data is None else None
        self.data = self._scratch.path if self._scratch else Path(data or "").resolve()
        self._keep = [self._scratch.end] if self._scratch else []
        self._server = None if zookeeper else Zookeeper(self.data / "zookeeper", keep=self._keep)
        self._zookeeper = zookeeper or ""
        self._config = _defaults(brokers) | dict(config or {})
        self._report = report
        self._nodes: dict[int, Node] = {}
        for number in range(brokers):
            self._add(number + 1, port + number if port else 0)
        self._faults = Faults()
        self._observer = Observer(self.directory, self._members)
        self._recorders: list[Recorder] = []
        self._znodes: Znodes | None = None
        self._trace_wish = {"on": False, "frames": False}
        self._clients = Clients(lambda: self.bootstrap)

    @property
    def zookeeper(self) -> str:
        """HOST:PORT of the ZooKeeper in use."""
        return self._server.address if self._server else self._zookeeper

    @property
    def bootstrap(self) -> str:
        """What clients want as bootstrap.servers."""
        return ",".join(node.address for node in self._nodes.values())

    @property
    def admin(self) -> "AdminClient":
        """What can be done to a cluster through its own protocol."""
        return self._clients.admin

    def producer(self, config: Mapping[str, Any] = NONE) -> "Producer":
        """Of this cluster, with Kafka's keys; it ends with it, as consumers do."""
        return self._clients.producer(config)

    def consumer(self, config: Mapping[str, Any] = NONE) -> "Consumer":
        return self._clients.consumer(config)

    @property
    def brokers(self) -> list[int]:
        """Their numbers, of those that are down, too."""
        return list(self._nodes)

    def directory(self, broker: int) -> Path:
        return self.data / f"broker-{broker}"

    def child(self, broker: int) -> Child:
        """The broker's process."""
        return self._node(broker).child

    def command(self, broker: int) -> str:
        """What starts this broker by hand."""
        return self._node(broker).command(self.zookeeper)

    # -- life ----------------------------------------------------------------------------

    def start(self) -> Self:
        """Returns once every broker is registered and serves, and knows the controller."""
        need = room.cluster(len(self._nodes), zookeeper=self._server is not None)
        try:
            room.check(need, self.data)
            with room.refusals(need.what):
                self._start()
        except BaseException as error:
            blamed = self._server.last_words if self._server else ""
            self.stop()
            if blamed and isinstance(error, KafkaError):
                raise KafkaError(error.code, blamed) from error
            raise
        return self

    def _start(self) -> None:
        if self._server:
            self._report("starting ZooKeeper")
            self._server.start()
        for node in self._nodes.values():
            self._launch(node)
        for node in self._nodes.values():
            self._report(f"starting broker {node.number}")
            node.await_ready()
        for node in self._nodes.values():
            node.await_cluster(set(self._nodes))

    def stop(self) -> None:
        self._clients.close()
        for recorder in self._recorders:
            recorder.stop()
        if self._znodes:
            self._znodes.close()
        for node in self._nodes.values():
            node.expected = False
        children = [node.child for node in self._nodes.values() if node.launched]
        end_all(children, HASTE if self._scratch else STOP_TIMEOUT)
        self._observer.close()
        for node in self._nodes.values():
            node.release()
        if self._server:
            self._server.stop()
        if self._scratch:
            self._scratch.remove()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def add_broker(self) -> int:
        """One more, with the next number and a free port; returns the number."""
        number = max(self._nodes) + 1
        node = self._add(number, 0)
        self._launch(node)
        self._await(node)
        return number

    # -- faults of brokers ---------------------------------------------------------------

    def kill(self, broker: int) -> None:
        """SIGKILL: as a crash of the machine, but for the page cache."""
        node = self._node(broker)
        node.expected = False
        if node.status is Status.UP:
            self._observer.collect([broker])  # what happened in it is forgotten with it
        node.child.kill()
        self._is_down(node, "killed")

    def pause(self, broker: int) -> None:
        """SIGSTOP: as a long garbage collection."""
        self._node(broker).child.pause()
        self._observer.note("broker.paused", broker=broker)

    def resume(self, broker: int) -> None:
        self._node(broker).child.resume()
        self._observer.note("broker.resumed", broker=broker)

    def stop_broker(self, broker: int) -> int:
        """SIGTERM: it hands over what it leads, and closes its logs. Returns its exit code."""
        node = self._node(broker)
        node.expected = False
        node.child.ask_to_end()
        deadline = time.monotonic() + STOP_TIMEOUT
        while node.status is Status.UP and time.monotonic() < deadline:
            self._observer.collect([broker])  # how it hands over
            time.sleep(PAUSE)
        code = node.child.terminate(0)
        self._is_down(node, "stopped", code=code)
        return code

    def restart(self, broker: int, *, wait: bool = True) -> None:
        """Start a broker that is down; one that is up is stopped first."""
        node = self._node(broker)
        if node.status is not Status.DOWN:
            self.stop_broker(broker)
        self._launch(node)
        if wait:
            self._await(node)

    def _is_down(self, node: Node, how: str, **data: Any) -> None:
        node.hold()
        self._observer.note(f"broker.{how}", broker=node.number, **data)

    # -- faults of links -----------------------------------------------------------------

    def cut(self, one: End, other: End, both: bool = True) -> None:
        """Between two brokers, or a broker and "zookeeper": what is sent waits, and nobody knows.

        `both=False`: only what the first sends no longer reaches the other.
        """
        self._check_ends(one, other)
        kept_by = [self._faults.cut(one, other)]
        if both:
            kept_by.append(self._faults.cut(other, one))
        self._tell(kept_by)
        self._observer.note("link.cut", one=one, other=other, both=both)

    def slow(self, one: End, other: End, ms: int) -> None:
        """Every message between the two, in either direction, takes so much longer."""
        self._check_ends(one, other)
        self._tell(self._faults.slow(one, other, ms))
        self._observer.note("link.slowed", one=one, other=other, ms=ms)

    def heal(self) -> None:
        """Every link is whole and quick again."""
        self._tell(self._faults.heal(), heal=True)
        self._observer.note("link.healed")

    def drop_next_answer(self, broker: int, api: Api | None = None) -> None:
        """The next answer to a client: all is done, but the connection breaks before it hears.

        With `api`, the next one to such a request, and not to whatever is asked first.
        """
        request = {"ask": "drop", "answers": 1, "api": None if api is None else int(api)}
        self._observer.tell(broker, request)
        self._observer.note("answer.dropped", broker=broker)

    def _check_ends(self, one: End, other: End) -> None:
        if one == other or not {one, other} <= {*self._nodes, ZOOKEEPER}:
            raise KafkaError(
                ErrorCode.invalid_request,
                f"there is no link between {one} and {other}: it has a broker of this cluster at "
                f'one end, and another one or "{ZOOKEEPER}" at the other',
            )

    def _tell(self, brokers: Iterable[int], heal: bool = False) -> None:
        """A broker that is paused will hear when it goes on, one that is down when it starts."""
        for broker in sorted(set(brokers)):
            status = self._node(broker).status
            if status is not Status.DOWN:
                request = {"ask": "links", "change": self._faults.of(broker), "heal": heal}
                self._observer.tell(broker, request, wait=status is Status.UP)

    # -- what is going on ----------------------------------------------------------------

    def state(self) -> ClusterState:
        """What every broker tells of itself now; see state.py."""
        self.deaths()
        return self._observer.state(self._faults.states())

    def events(self, after: int = 0) -> list[Happened]:
        """What happened, in order, after an event of that number; 0 comes before the first."""
        self.deaths()
        return self._observer.events(after)

    def trace(self, on: bool = True, *, frames: bool = False) -> None:
        """Have every broker tell each request that it serves, as an event; with its bytes, too."""
        self._trace_wish = {"on": on, "frames": frames}
        for node in self._nodes.values():
            self._trace(node)

    def _trace(self, node: Node) -> None:
        if node.status is not Status.DOWN:
            wait = node.status is Status.UP
            self._observer.tell(node.number, {"ask": "trace", **self._trace_wish}, wait=wait)

    def znodes(self) -> Znodes:
        """What stands in ZooKeeper and changes there, for all who look; see znodes.py."""
        if self._znodes is None:
            self._znodes = Znodes(self.zookeeper)
        return self._znodes

    def record(
        self,
        path: Path | str,
        *,
        znodes: bool = False,
        files: Wish = (),
        tracks: Mapping[str, Track] = NO_TRACKS,
    ) -> Recorder:
        """Write states, events and tracks to a file, from now on; see recording.py.

        `znodes`: also what stands in ZooKeeper; see znodes.py.
        `files`: also those of some partitions (`["orders-0"]`), on all brokers or on those that
        are named (`{"orders-0": [1]}`); see files.py.
        """
        if znodes:
            tracks = {**tracks, "znodes": self.znodes().track()}
        if files:
            tracks = {**tracks, FILES: Files(self.directory, lambda: self.brokers, files)}
        recorder = Recorder(Path(path), self.state, self.events, tracks)
        self._recorders.append(recorder)
        return recorder

    def _members(self) -> dict[int, Member]:
        return {number: node.member for number, node in self._nodes.items()}

    def deaths(self) -> list[tuple[int, str]]:
        """Brokers that have ended by themselves since this was noticed last, and why."""
        found = []
        for node in self._nodes.values():
            if node.expected and node.launched and node.status is Status.DOWN:
                node.expected = False
                found.append((node.number, node.last_words()))
                self._is_down(node, "died", reason=found[-1][1])
        return found

    # -- brokers -------------------------------------------------------------------------

    def _add(self, number: int, port: int) -> Node:
        node = self._nodes[number] = Node(number, port, self.directory(number), self._config)
        return node

    def _node(self, broker: int) -> Node:
        if broker not in self._nodes:
            raise KafkaError(
                ErrorCode.broker_not_available,
                f"there is no broker {broker} in this cluster, only {self.brokers}",
            )
        return self._nodes[broker]

    def _launch(self, node: Node) -> None:
        if self._scratch and not self.data.exists():
            raise KafkaError(
                ErrorCode.broker_not_available,
                "this cluster has ended, and its files have gone with it: make a new one",
            )
        node.launch(self.zookeeper, self._faults.environment(node.number), self._keep)
        self._observer.note("broker.started", broker=node.number, pid=node.child.pid)

    def _await(self, node: Node) -> None:
        node.await_ready()
        node.await_cluster({node.number})
        if self._trace_wish["on"]:
            self._trace(node)


def _defaults(brokers: int) -> dict[str, str]:
    """Where Kafka's defaults are meant for large clusters: as in its own first steps.

    Fewer brokers than three can't keep offsets and transactions thrice, and in a lab nobody wants
    to wait for the members of a group to come.
    """
    return {
        "offsets.topic.replication.factor": str(min(3, brokers)),
        "transaction.state.log.replication.factor": str(min(3, brokers)),
        "transaction.state.log.min.isr": str(min(2, brokers)),
        "group.initial.rebalance.delay.ms": "0",
    }
