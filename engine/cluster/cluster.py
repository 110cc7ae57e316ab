"""A cluster on this machine: a ZooKeeper, and one operating-system process per broker.

    DIR/zookeeper/     ZooKeeper's znodes and log; of several servers: zookeeper-1, zookeeper-2 ...
    DIR/broker-1/      a broker's log directory, its broker.pid and its broker.log
    DIR/broker-2/ ...
    DIR/bin/kafka-topics.sh ...     scripts with Kafka's names (scripts/)

    with Cluster(brokers=3) as cluster:
        orders = cluster.topic("orders", replicas=[1, 2, 3])
        cluster.write(orders, ["a", "b"], acks="all")
        cluster.kill(1)
        cluster.wait("a new leader", lambda: cluster.leader(orders) in (2, 3))
        cluster.read(orders), cluster.isr(orders)
        cluster.mend()

Everything listens on 127.0.0.1. A cluster that is given no directory uses a temporary one, which is
removed with it. Nothing outlives the process that made the cluster (child.py, scratch.py).

The faults are real: kill is SIGKILL, pause is SIGSTOP, and a broker is restarted by the command
that started it, on the same port and directory. A link that is cut or slow stays so until `heal`,
also when its broker is restarted meanwhile.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from engine.cluster import defaults, ensemble, resources, topics
from engine.cluster.broker_process import BrokerProcess
from engine.cluster.child import Child, end_all
from engine.cluster.clients import NONE, Clients
from engine.cluster.ensemble import ZookeeperEnsemble
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.faults import End, Faults, is_zookeeper, no_link
from engine.cluster.kafka_process import KAFKA, OURS, KafkaProcess, jars
from engine.cluster.kafka_reporter import KafkaReporter
from engine.cluster.observer import Observer
from engine.cluster.recorded_files import FILES_TRACK, FileTrack, WantedFiles
from engine.cluster.recording import NO_TRACKS, Recorder, Track
from engine.cluster.request_faults import ApiName, ErrorName, RequestFaultSender
from engine.cluster.rule_files import rule_files
from engine.cluster.scratch import Scratch
from engine.cluster.scripts.kafka_home import KafkaHome
from engine.cluster.state import ClusterState, Status
from engine.cluster.state_merger import ProcessState
from engine.cluster.znode_watcher import ZnodeWatcher
from engine.errors import ApiException, ErrorCode
from engine.table import Table

if TYPE_CHECKING:
    from engine.client.admin.client import AdminClient
    from engine.client.consumer import Consumer
    from engine.client.producer import Producer
    from engine.cluster.security.cluster_security import ClusterSecurity

T = TypeVar("T")

STOP_TIMEOUT_S = 30.0  # for brokers to hand over leadership and close their logs
SHORT_STOP_TIMEOUT_S = 3.0  # the same for a temporary cluster, whose files are removed anyway
CHECK_S = 0.02  # between two checks


class Cluster:
    def __init__(
        self,
        brokers: int = 1,
        *,
        port: int = 0,
        data: Path | str | None = None,
        zookeepers: int = 1,
        zookeeper: str | None = None,
        config: Mapping[str, str] | None = None,
        security: str = "PLAINTEXT",
        users: Mapping[str, str] | None = None,
        rules: Mapping[str, type | Path | str] | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`port` is the first broker's, the others follow; 0 takes free ones.

        `zookeepers`: how many servers of it are started, see ensemble.py; or `zookeeper` is the
        address of one that runs.

        `security`: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, and `users` their passwords: see
        security/. The cluster's own clients are then the brokers' own user.

        `rules`: of challenges, by name: a class, or the file in which one stands (rule_files.py).

        `report` is called with a line that says what is being waited for.
        """
        if brokers < 1:
            raise ApiException(ErrorCode.invalid_config, f"a cluster has brokers, not {brokers}")
        ensemble.check(zookeepers, zookeeper)
        self._scratch = Scratch() if data is None else None
        self.data = self._scratch.path if self._scratch else Path(data or "").resolve()
        self._home = KafkaHome(self.data)
        self._keep = [self._scratch.end] if self._scratch else []
        self._observer = Observer(self.directory, self._members)
        self._ensemble = ZookeeperEnsemble(
            self.data, zookeepers, zookeeper, self._keep, self._observer.note_at
        )
        self._config = defaults.small(brokers) | dict(config or {})
        self._report = report
        self._security = self._secured(security, users or {})
        if self._security:
            self._config = self._security.with_super_user(self._config)
        self._nodes: dict[int, BrokerProcess] = {}
        self._faults, self._rules = Faults(), rule_files(rules or {}, self.data / "rules")
        self._request_faults = RequestFaultSender(self._observer, self._nodes)
        self._recorders: list[Recorder] = []
        self._znodes: ZnodeWatcher | None = None
        self._switches: dict[str, dict[str, bool]] = {}  # of the brokers' debug servers
        own = self._security.settings() if self._security else {}
        self._clients = Clients(lambda: self.bootstrap, lambda: self.zookeeper, own)
        for number in range(brokers):
            self._add(number + 1, port + number if port else 0)

    @property
    def zookeeper(self) -> str:
        """HOST:PORT of each ZooKeeper server in use, with commas."""
        return self._ensemble.address

    @property
    def zookeepers(self) -> list[str]:
        """The names of the ZooKeeper servers that this cluster started, also of dead ones."""
        return self._ensemble.names

    @property
    def bootstrap(self) -> str:
        """The value of bootstrap.servers for clients."""
        return ",".join(node.address for node in self._nodes.values())

    @property
    def security_settings(self) -> dict[str, str]:
        """TLS and SASL of the cluster's own clients."""
        return next(iter(self._nodes.values())).security_settings

    def settings(self, user: str, mechanism: str = "SCRAM-SHA-256") -> dict[str, str]:
        """What any client of a user needs, in the keys of librdkafka."""
        if self._security is None:
            raise ApiException(ErrorCode.invalid_request, "this cluster has no users: security=...")
        return {"bootstrap.servers": self.bootstrap, **self._security.settings(user, mechanism)}

    def _secured(self, security: str, users: Mapping[str, str]) -> "ClusterSecurity | None":
        """Loaded only if it is needed: it needs a library for certificates."""
        if security == "PLAINTEXT" and not users:
            return None
        from engine.cluster.security.cluster_security import ClusterSecurity  # noqa: PLC0415

        return ClusterSecurity(self.data, security, users)

    @property
    def admin(self) -> "AdminClient":
        """An admin client of this cluster."""
        return self._clients.admin

    def producer(self, config: Mapping[str, Any] = NONE) -> "Producer":
        """A producer of this cluster, configured by Kafka's keys; closed with the cluster."""
        return self._clients.producer(config)

    def consumer(self, config: Mapping[str, Any] = NONE) -> "Consumer":
        return self._clients.consumer(config)

    @property
    def brokers(self) -> list[int]:
        """The numbers of all brokers, also of those that are down."""
        return list(self._nodes)

    def directory(self, broker: int) -> Path:
        return self.data / f"broker-{broker}"

    def child(self, broker: End) -> Child:
        """The process of a broker, or of a ZooKeeper server."""
        return self._ensemble.child(broker) if isinstance(broker, str) else self._node(broker).child

    def command(self, broker: End) -> str:
        """The command that starts this broker, or server of ZooKeeper, by hand."""
        if isinstance(broker, str):
            return self._ensemble.command(broker)
        return self._node(broker).command(self.zookeeper)

    # -- start and stop ------------------------------------------------------------------

    def start(self) -> Self:
        """Returns once every broker is registered and serves, and knows the controller."""
        need = resources.cluster(len(self._nodes), zookeepers=len(self.zookeepers))
        try:
            resources.check(need, self.data)
            with resources.refusals(need.what):
                self._start()
        except BaseException as error:
            blamed = self._ensemble.end_reason
            self.stop()
            if blamed and isinstance(error, ApiException):
                raise ApiException(error.code, blamed) from error
            raise
        return self

    def _start(self) -> None:
        if self.zookeepers:
            self._report("starting ZooKeeper")
        self._ensemble.start()
        self._home.write(self.zookeeper, self._ensemble.directory)
        if self._security:
            self._security.store_users(self.zookeeper)
        for node in self._nodes.values():
            self._launch(node)
        for node in self._nodes.values():
            self._report(f"starting broker {node.number}")
            node.await_ready()
        for node in self._nodes.values():
            node.await_cluster(set(self._nodes))
        if self._security:
            self._security.write_addresses(self.bootstrap)

    def stop(self) -> None:
        self._observer.stop_reporting()
        self._clients.close()
        self._home.stop()
        for recorder in self._recorders:
            recorder.stop()
        if self._znodes:
            self._znodes.close()
        for node in self._nodes.values():
            node.expected = False
        children = [node.child for node in self._nodes.values() if node.launched]
        end_all(children, SHORT_STOP_TIMEOUT_S if self._scratch else STOP_TIMEOUT_S)
        self._observer.close()
        for node in self._nodes.values():
            node.release_port()
        self._ensemble.stop()
        if self._scratch:
            self._scratch.remove()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def add_broker(self, kind: str = OURS) -> int:
        """Add a broker with the next number and a free port; returns its number.

        `kind="kafka"`: a broker of Apache Kafka 2.8, where its jars are; see kafka_process.py.
        """
        if kind not in (OURS, KAFKA):
            raise ApiException(ErrorCode.invalid_request, f'"{OURS}" or "{KAFKA}", not {kind!r}')
        if kind == KAFKA:
            jars()
        node = self._add(max(self._nodes) + 1, 0, kind)
        self._launch(node)
        self._await(node)
        return node.number

    # -- faults of brokers and ZooKeeper servers -----------------------------------------

    def kill(self, broker: End) -> None:
        """SIGKILL: as a crash of the machine, except that the page cache survives.

        A broker, a ZooKeeper server ("zookeeper-2"), or all ("zookeeper"). Nothing happens to a
        broker that is down.
        """
        if isinstance(broker, str):
            return self._ensemble.kill(broker)
        node = self._node(broker)
        if node.status is Status.DOWN:
            return
        node.expected = False
        if node.status is Status.UP:
            self._observer.collect([broker])  # its events are lost when it ends
        node.child.kill()
        self._is_down(node, "killed")

    def pause(self, broker: End) -> None:
        """SIGSTOP: as in a long garbage collection. Nothing happens to a broker that is down."""
        if isinstance(broker, str):
            return self._ensemble.pause(broker)
        node = self._node(broker)
        if node.status is Status.UP:
            node.child.pause()
            self._observer.note("broker.paused", broker=broker)

    def resume(self, broker: End) -> None:
        """SIGCONT, to a broker or a ZooKeeper server that was paused."""
        if isinstance(broker, str):
            return self._ensemble.resume(broker)
        node = self._node(broker)
        if node.status is Status.PAUSED:
            node.child.resume()
            self._observer.note("broker.resumed", broker=broker)

    def stop_broker(self, broker: int) -> int:
        """SIGTERM: it hands over leadership and closes its logs. Returns its exit code."""
        node = self._node(broker)
        node.expected = False
        node.child.ask_to_end()
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while node.status is Status.UP and time.monotonic() < deadline:
            self._observer.collect([broker])  # the events of its shutdown
            time.sleep(CHECK_S)
        code = node.child.terminate(0)
        self._is_down(node, "stopped", code=code)
        return code

    def restart(self, broker: End, *, wait: bool = True) -> None:
        """Start a broker that is down; one that is up is stopped first."""
        if isinstance(broker, str):
            return self._ensemble.restart(broker, wait=wait)
        node = self._node(broker)
        if node.status is not Status.DOWN:
            self.stop_broker(broker)
        self._launch(node)
        if wait:
            self._await(node)

    def configure(self, broker: int, settings: Mapping[str, str], **secured: Any) -> None:
        """The broker's next start has these settings, too: see `BrokerProcess.configure`.

        The cluster's own clients (`admin`, `producer`) do not follow it to another protocol.
        """
        self._node(broker).configure(settings, **secured)

    def _is_down(self, node: BrokerProcess, how: str, **data: Any) -> None:
        node.reserve_port()
        self._observer.note(f"broker.{how}", broker=node.number, **data)

    # -- faults of links -----------------------------------------------------------------

    def cut(self, one: End, other: End, both: bool = True) -> None:
        """Between two brokers, or a broker and "zookeeper": messages are held back, without error.

        Or between a server of an ensemble ("zookeeper-2") and a broker, or another server.
        `both=False`: only messages from the first to the other.
        """
        self._check_ends(one, other, one, *([other] if both or is_zookeeper(one) else []))
        kept_by = [self._faults.cut(one, other)]
        if both:
            kept_by.append(self._faults.cut(other, one))
        self._send_faults(kept_by)
        self._observer.note("link.cut", one=one, other=other, both=both)

    def slow(self, one: End, other: End, ms: int) -> None:
        """Delay every message between the two, in either direction, by `ms`."""
        self._check_ends(one, other, one, other)
        self._send_faults(self._faults.slow(one, other, ms))
        self._observer.note("link.slowed", one=one, other=other, ms=ms)

    def heal(self, one: End | None = None, other: End | None = None) -> None:
        """Undo all cuts, delays and faults of answers, or those of the link between two ends.

        It is an event only if there was something to undo.
        """
        faults, ends = [*self._faults.states()], {}
        if one is None or other is None:
            self._send_faults(self._faults.heal(), heal=True)
            self._request_faults.heal()
        else:
            self._check_ends(one, other)
            self._send_faults(self._faults.heal_link(one, other))
            ends = {"one": one, "other": other}
        if faults != [*self._faults.states()]:
            self._observer.note("link.healed", **ends)

    # -- faults of requests of clients, and of answers; see request_faults.py --------------

    def fail_requests(self, broker: int, api: ApiName, error: ErrorName, times: int = 1) -> None:
        """Answer the next requests of clients of this API with an error, and do nothing else.

        fail_requests(1, "Produce", "NOT_ENOUGH_REPLICAS"); `times=0` takes it back.
        """
        self._request_faults.fail(self._node(broker), api, error, times)

    def drop_next_answer(self, broker: int, api: ApiName | None = None) -> None:
        """Lose the next answer to a client: the request is done (its records are stored), then the
        connection breaks, and the client can't know which of both has failed.

        With `api`: the next answer to a request of that kind.
        """
        self._request_faults.drop(self._node(broker), api)

    def slow_coordinator(self, broker: int, ms: int) -> None:
        """Delay what this broker answers as a coordinator of groups or transactions; 0: no longer.

        JoinGroup, Heartbeat, OffsetCommit, EndTxn ...: each is done at once, and answered later.
        """
        self._request_faults.slow_coordinator(self._node(broker), ms)

    def repeat_request(
        self, broker: int, api: ApiName, ms: int | None = None, times: int = 1
    ) -> None:
        """The next request of this API comes a second time, as if the network had delivered it
        twice: it is done and answered as always, and a copy comes `ms` later.

        Without `ms`: when `deliver_repeats` is called. WriteTxnMarkers of brokers may be repeated.
        `times`: the next so many requests; 0 takes it back.
        """
        self._request_faults.repeat(self._node(broker), api, ms, times)

    def deliver_repeats(self, broker: int) -> Table:
        """The copies of requests come now; returns what each was, and how it was answered."""
        return self._request_faults.deliver(self._node(broker))

    def heal_requests(self, broker: int) -> None:
        """Take back all of these, on one broker; `heal()` does so on all."""
        self._request_faults.heal(self._node(broker).number)

    def _check_ends(self, one: End, other: End, *kept_by: End) -> None:
        names = self._ensemble.link_names
        ours = {*self._nodes, *names}
        if one == other or not {one, other} <= ours or self._ensemble.within(one, other):
            raise no_link(one, other, names)
        brokers = {*kept_by} & {*self._nodes}
        if kafka := [each for each in brokers if self._node(each).is_kafka]:
            raise ApiException(
                ErrorCode.invalid_request,
                f"broker {kafka[0]} is one of Apache Kafka, which does not hold back its messages: "
                f"only cut(N, {kafka[0]}, both=False) from a broker N of ours is possible",
            )

    def _send_faults(self, keepers: Iterable[End], heal: bool = False) -> None:
        """A paused broker applies them when it is resumed, one that is down when it starts."""
        for broker in sorted(set(keepers), key=str):
            if isinstance(broker, str):
                self._ensemble.change_links(broker, self._faults.of(broker))
                continue
            request = {"ask": "links", "change": self._faults.of(broker), "heal": heal}
            self._observer.request_running(self._node(broker), request)

    # -- state and events ----------------------------------------------------------------

    def state(self) -> ClusterState:
        """A snapshot of what every broker reports now; see state.py."""
        self.deaths()
        return self._ensemble.added(self._observer.state(self._faults.states()))

    def events(self, after: int = 0) -> list[ClusterEvent]:
        """The events after the event with that number, in order; 0: all of them."""
        self.deaths()
        self._ensemble.report_events()
        return self._observer.events(after)

    def trace(self, on: bool = True, *, frames: bool = False) -> None:
        """Have every broker emit an event for each request it serves; `frames`: with its bytes."""
        self._switch("trace", on=on, frames=frames)

    def count_requests(self, on: bool = True) -> None:
        """Have every broker's state say how many requests of each kind it has answered."""
        self._switch("count", on=on)

    def _switch(self, ask: str, **settings: bool) -> None:
        self._switches[ask] = settings
        for node in self._nodes.values():
            self._observer.request_running(node, {"ask": ask, **settings})

    def znodes(self) -> ZnodeWatcher:
        """The znodes and their changes, shared by all callers; see znode_watcher.py."""
        if self._znodes is None:
            self._znodes = ZnodeWatcher(self.zookeeper)
        return self._znodes

    def record(
        self,
        path: Path | str,
        *,
        znodes: bool = False,
        files: WantedFiles = (),
        tracks: Mapping[str, Track] = NO_TRACKS,
    ) -> Recorder:
        """Write states, events and tracks to a file, from now on; see recording.py.

        `znodes`: also the znodes and their changes; see znode_watcher.py.
        `files`: also the log files of some partitions (`["orders-0"]`), on all brokers or on some
        (`{"orders-0": [1]}`); see recorded_files.py.
        """
        if znodes:
            tracks = {**tracks, "znodes": self.znodes().track()}
        if files:
            tracks = {**tracks, FILES_TRACK: FileTrack(self.directory, lambda: self.brokers, files)}
        recorder = Recorder(Path(path), self.state, self.events, tracks)
        self._recorders.append(recorder)
        return recorder

    def _members(self) -> dict[int, ProcessState]:
        return {number: node.member for number, node in self._nodes.items()}

    def deaths(self) -> list[tuple[End, str]]:
        """Brokers, and servers of an ensemble, that have ended by themselves since the last call,
        and why."""
        found: list[tuple[End, str]] = [*self._ensemble.deaths()]
        for node in self._nodes.values():
            if node.expected and node.launched and node.status is Status.DOWN:
                node.expected = False
                found.append((node.number, node.end_reason()))
                self._is_down(node, "died", reason=found[-1][1])
        return found

    # -- experiments ---------------------------------------------------------------------

    def topic(
        self,
        name: str,
        *,
        partitions: int = 1,
        replicas: int | Sequence[int] | Sequence[Sequence[int]] = 3,
        **config: object,
    ) -> str:
        """Create a topic and wait for its leaders. Returns its name: "orders", then "orders-2" ...

        `replicas`: how many; or the brokers of the one partition, the first leads; or a list of
        brokers for each partition. `config`: of the topic, with _ for each dot.
        """
        return topics.create(self, name, partitions, replicas, config)

    def write(self, topic: str, values: Iterable[str], **how: Any) -> list[int]:
        """Produce records; returns the offsets of those that were acknowledged.

        `partition`, `key`, `timestamp`: of every record; a key may be a function of its value.
        Anything else configures the producer: acks=1.
        """
        return topics.write(self, topic, values, **how)

    def read(self, topic: str, partition: int = 0, **config: object) -> list[str]:
        """Consume one partition from its start to its end."""
        return topics.read(self, topic, partition, config)

    def records(self, topic: str, **config: Any) -> Table:
        """Consume all partitions: a row for each record, in the order in which they came."""
        return topics.records(self, topic, config)

    def leader(self, topic: str, partition: int = 0) -> int:
        """As ZooKeeper has it; -1: there is none."""
        return topics.state(self, topic, partition).leader

    def isr(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """As ZooKeeper has it."""
        return topics.state(self, topic, partition).isr

    def znode(self, path: str) -> bytes | None:
        """The data of a znode; None: there is no such znode."""
        found = self._clients.znode(path)
        return found and found[0]

    def children(self, path: str) -> list[str]:
        return self._clients.children(path)

    def wait(self, what: str, condition: Callable[[], T], seconds: float = 60) -> T:
        """Wait until a condition is true, and return what it returned.

        `what` is waited for; the error names it: cluster.wait("a new leader", lambda: ...).
        """
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not within {seconds:g} seconds; run this cell again")
            time.sleep(CHECK_S)
        return found

    def mend(self) -> None:
        """Undo every fault: heal links, start brokers, wait until all replicas are in sync."""
        self.heal()  # first: a server of ZooKeeper that is cut off never has a quorum
        self._ensemble.mend()
        for number, node in self._nodes.items():
            if node.status is Status.PAUSED:
                self.resume(number)
        for number, node in self._nodes.items():
            if node.status is Status.DOWN:
                self.restart(number)
        self.wait("a session of every broker", self._have_sessions)
        self.wait("all replicas in sync", lambda: topics.in_sync(self))

    def _have_sessions(self) -> bool:
        """Not so while ZooKeeper still has a session of a broker that was paused for too long."""
        return all(
            each.session == self._clients.owner(number)
            for number, each in self.state().brokers.items()
            if not isinstance(self._nodes[number], KafkaProcess)
        )

    # -- brokers -------------------------------------------------------------------------

    def _add(self, number: int, port: int, kind: str = OURS) -> BrokerProcess:
        made = KafkaProcess if kind == KAFKA else BrokerProcess
        node = self._nodes[number] = made(
            *(number, port, self.directory(number), self._config, self._security), self._rules
        )
        reporter = KafkaReporter(node, self._clients.ask) if node.is_kafka else None
        self._observer.report(number, reporter)
        return node

    def _node(self, broker: End) -> BrokerProcess:
        node = self._nodes.get(broker) if isinstance(broker, int) else None
        if node is None:
            raise ApiException(
                ErrorCode.broker_not_available,
                f"there is no broker {broker} in this cluster, only {self.brokers}",
            )
        return node

    def _launch(self, node: BrokerProcess) -> None:
        if self._scratch and not self.data.exists():
            raise ApiException(
                ErrorCode.broker_not_available,
                "this cluster has ended, and its files were removed: make a new one",
            )
        node.launch(self.zookeeper, self._faults.environment(node.number), self._keep)
        self._observer.note("broker.started", broker=node.number, pid=node.child.pid)

    def _await(self, node: BrokerProcess) -> None:
        node.await_ready()
        node.await_cluster({node.number})
        for ask, settings in self._switches.items():
            self._observer.request_running(node, {"ask": ask, **settings})
