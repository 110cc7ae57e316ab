"""A cluster on this machine: one operating-system process per broker, and what has the metadata.

    DIR/zookeeper/     ZooKeeper's znodes and log; of several servers: zookeeper-1, zookeeper-2 ...
    DIR/controller-1/  without ZooKeeper (metadata="kraft"): a controller's directory, the metadata
                       log in it, and its controller.log
    DIR/broker-1/      a broker's log directory, its broker.pid and its broker.log
    DIR/broker-2/ ...
    DIR/launcher.log   empty, if all is well (node_launcher.py)
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

Most of what can be done to a cluster is in `cluster.faults` (faults.py), `cluster.requests`
(request_faults.py) and `cluster.topics` (topics.py); for notebooks it has their methods, too.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from engine.browser import needs_processes
from engine.cluster import debug_client, defaults, resources
from engine.cluster.broker_process import BrokerProcess
from engine.cluster.broker_processes import BrokerProcesses
from engine.cluster.child import Child, end_all
from engine.cluster.clients import NONE, Clients
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.faults import STOP_TIMEOUT_S, Faults
from engine.cluster.kafka_process import KAFKA, OURS, KafkaProcess, jars
from engine.cluster.kafka_reporter import KafkaReporter
from engine.cluster.kraft.controller_quorum import ControllerQuorum, check_controllers
from engine.cluster.kraft.metadata_log_reader import LOG_TRACK, MetadataLogReader
from engine.cluster.kraft.quorum_metadata_view import QuorumMetadataView
from engine.cluster.link_faults import FIRST_CONTROLLER, End, LinkFaults, controller
from engine.cluster.metadata_servers import DecidedMetadata, MetadataServers
from engine.cluster.node_launcher import NodeLauncher
from engine.cluster.observer import Observer
from engine.cluster.recorded_files import FILES_TRACK, FileTrack, WantedFiles
from engine.cluster.recording import NO_TRACKS, Recorder, Track
from engine.cluster.request_faults import ApiName, ErrorName, RequestFaultSender
from engine.cluster.rule_files import rule_files
from engine.cluster.scratch import Scratch
from engine.cluster.scripts.kafka_home import KafkaHome
from engine.cluster.state import ClusterState
from engine.cluster.state_merger import ProcessState
from engine.cluster.topics import ClusterTopics, Replicas
from engine.cluster.znode_watcher import ZnodeWatcher
from engine.cluster.zookeeper import ZookeeperServer
from engine.cluster.zookeepers import ensemble
from engine.cluster.zookeepers.ensemble import ZookeeperEnsemble
from engine.cluster.zookeepers.zookeeper_view import ZookeeperView
from engine.config.kraft import by_role
from engine.config.listeners import LAST_PORT
from engine.errors import ApiException, invalid_config, invalid_request
from engine.table import Table

if TYPE_CHECKING:
    from engine.client.admin.client import AdminClient
    from engine.client.consumer import Consumer
    from engine.client.producer import Producer
    from engine.cluster.security.cluster_security import ClusterSecurity

T = TypeVar("T")

SHORT_STOP_TIMEOUT_S = 3.0  # of brokers of a temporary cluster, whose files are removed anyway
CHECK_S = 0.02  # between two checks
CONTROLLERS = 3  # without ZooKeeper, if nothing is said


class Cluster:
    def __init__(
        self,
        brokers: int = 1,
        *,
        port: int = 0,
        data: Path | str | None = None,
        zookeepers: int = 1,
        zookeeper: str | None = None,
        metadata: str = "zookeeper",
        controllers: int | None = None,
        config: Mapping[str, str] | None = None,
        security: str = "PLAINTEXT",
        users: Mapping[str, str] | None = None,
        rules: Mapping[str, type | Path | str] | None = None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        """`port` is the first broker's, the others follow; 0 takes free ones.

        `zookeepers`: how many servers of it are started, see ensemble.py; or `zookeeper` is the
        address of one that runs.

        `metadata="kraft"`: without ZooKeeper, with so many `controllers` (3, if nothing is said); 0
        makes each of the brokers a controller, too. See controller_quorum.py.

        `security`: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, and `users` their passwords: see
        security/. The cluster's own clients are then the brokers' own user.

        `rules`: of challenges, by name: a class, or the file in which one stands (rule_files.py).

        `report` is called with a line that says what is being waited for.
        """
        _check(brokers, port)
        ensemble.check(zookeepers, zookeeper)
        check_controllers(metadata, controllers, zookeepers, zookeeper)
        self._scratch = Scratch() if data is None else None
        self.data = self._scratch.path if self._scratch else Path(data or "").resolve()
        self._home = KafkaHome(self.data)
        self._launcher = NodeLauncher(self.data, self._scratch)
        self._config = defaults.small(brokers) | dict(config or {})
        self._links, self._report = LinkFaults(), report
        self._observer = Observer(self._control_file, self._members, self._controllers)
        self._quorum: ControllerQuorum | None = None
        is_kraft = metadata == defaults.KRAFT
        self._security = self._secured(security, users or {}, controllers=is_kraft)
        if self._security:
            self._config = self._security.with_super_user(self._config)
        if is_kraft:
            self._with_quorum(brokers, CONTROLLERS if controllers is None else controllers)
        else:
            self._with_zookeeper(zookeepers, zookeeper)
        self._processes = BrokerProcesses(
            self._servers, self._observer, self._links, self._scratch, self._launcher
        )
        self.requests = RequestFaultSender(self._observer, self._processes)
        self.faults = Faults(
            self._processes, self._servers, self._observer, self._links, self.requests
        )
        self.topics = ClusterTopics(self)
        self._rules = rule_files(rules or {}, self.data / "rules")
        self._recorders: list[Recorder] = []
        self._znodes: ZnodeWatcher | None = None
        self._clients = Clients(lambda: self.bootstrap, self._own_settings())
        for number in range(brokers):
            self._add(number + 1, port + number if port else 0)

    def _own_settings(self) -> dict[str, str]:
        """TLS and SASL of the cluster's own clients; empty without security."""
        return self._security.settings() if self._security else {}

    def _with_quorum(self, brokers: int, controllers: int) -> None:
        self._config = defaults.QUORUM | self._config
        self._quorum = ControllerQuorum(
            *(self.data, controllers, brokers, self._config),
            *(self._observer, self._links, self._launcher, self._security),
        )
        if self._quorum.controllers:
            self._config = by_role(self._config).broker
        self._servers: MetadataServers = self._quorum
        self.view: DecidedMetadata = QuorumMetadataView(self._observer, self._voters)

    def _with_zookeeper(self, servers: int, address: str | None) -> None:
        """Settings of a quorum are left out: a cell may give those of both modes."""
        self._config = defaults.ZOOKEEPER | defaults.without_quorum(self._config)
        self._servers = ZookeeperEnsemble(
            *(self.data, servers, address),
            partial(ZookeeperServer, keep=self._launcher.keep, durable=self._scratch is None),
            self._observer.note_at,
        )
        self.view = self._zookeeper_view = ZookeeperView(lambda: self.zookeeper)

    @property
    def zookeeper(self) -> str:
        """HOST:PORT of each ZooKeeper server in use, with commas."""
        self._need_zookeeper("zookeeper")
        return self._servers.address

    @property
    def controllers(self) -> str:
        """The voters of a cluster without ZooKeeper: 101@127.0.0.1:PORT,..."""
        if self._quorum is None:
            raise invalid_request('this cluster has ZooKeeper: see metadata="kraft"')
        return self._quorum.address

    @property
    def metadata_servers(self) -> list[str]:
        """The names of ZooKeeper servers, or of controllers, that this cluster has started."""
        return self._servers.names

    @property
    def metadata_name(self) -> str | None:
        """The name that stands for all of them, in `cut` and `kill`; None: they are the brokers."""
        return self._servers.all_name

    @property
    def is_kraft(self) -> bool:
        return self._quorum is not None

    def _need_zookeeper(self, what: str) -> None:
        if self._quorum is not None:
            raise invalid_request(
                f"{what}: this cluster has no ZooKeeper, and so no znodes and no sessions; its "
                "metadata is in the log of its controllers"
            )

    @property
    def zookeepers(self) -> list[str]:
        """The names of the ZooKeeper servers that this cluster started, also of dead ones."""
        return [] if self._quorum else self._servers.names

    @property
    def bootstrap(self) -> str:
        """The value of bootstrap.servers for clients."""
        return ",".join(node.address for node in self._processes)

    @property
    def security_settings(self) -> dict[str, str]:
        """TLS and SASL of the cluster's own clients."""
        return next(iter(self._processes)).security_settings

    def settings(self, user: str, mechanism: str | None = None) -> dict[str, str]:
        """What any client of a user needs, in the keys of librdkafka. `mechanism`: SCRAM-SHA-256,
        if nothing is said; without ZooKeeper PLAIN, which is the only one there."""
        if self._security is None:
            raise invalid_request("this cluster has no users: security=...")
        return {"bootstrap.servers": self.bootstrap, **self._security.settings(user, mechanism)}

    def _secured(
        self, security: str, users: Mapping[str, str], *, controllers: bool
    ) -> "ClusterSecurity | None":
        """Loaded only if it is needed: it needs a library for certificates."""
        if security == "PLAINTEXT" and not users:
            return None
        from engine.cluster.security.cluster_security import ClusterSecurity  # noqa: PLC0415

        try:
            return ClusterSecurity(self.data, security, users, controllers=controllers)
        except ApiException:
            if self._scratch:
                self._scratch.remove()
            raise

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
        return self._processes.numbers

    def directory(self, broker: End) -> Path:
        """Of a broker, or of a controller: "controller-1"."""
        return self.data / (broker if isinstance(broker, str) else f"broker-{broker}")

    def _control_file(self, node: int) -> Path:
        if node < FIRST_CONTROLLER:
            return self.directory(node) / debug_client.OF_BROKER
        return self.directory(controller(node - FIRST_CONTROLLER + 1)) / debug_client.OF_CONTROLLER

    def child(self, broker: End) -> Child:
        """The process of a broker, a ZooKeeper server or a controller."""
        return (
            self._servers.child(broker)
            if isinstance(broker, str)
            else self._processes[broker].child
        )

    def command(self, broker: End) -> str:
        """The command that starts this broker, ZooKeeper server or controller by hand."""
        if isinstance(broker, str):
            return self._servers.command(broker)
        return self._processes[broker].command(self._servers.of_broker(broker))

    # -- start and stop ------------------------------------------------------------------

    def start(self) -> Self:
        """Returns once every broker is registered and serves, and knows the controller."""
        need = resources.cluster(len(self.brokers), len(self.zookeepers), len(self._controllers()))
        try:
            resources.check(need, self.data)
            with resources.refusals(need.what):
                self._start()
        except BaseException as error:
            blamed = self._servers.end_reason
            self.stop()
            if blamed and isinstance(error, ApiException):
                raise ApiException(error.code, blamed) from error
            raise
        return self

    def _start(self) -> None:
        if self._servers.names:
            self._report("starting the controllers" if self._quorum else "starting ZooKeeper")
        self._launcher.start("controller" if self._controllers() else "broker")
        self._servers.start()
        self._home.write(self._servers.server_settings(), self._servers.directory)
        if self._security and self._quorum is None:
            self._security.store_users(self.zookeeper)
        for node in self._processes:
            self._processes.launch(node)
        self._servers.await_ready()
        for node in self._processes:
            self._report(f"starting broker {node.number}")
            node.await_ready()
        for node in self._processes:
            node.await_cluster({*self.brokers})
        if self._security:
            self._security.write_addresses(self.bootstrap)

    def stop(self) -> None:
        """End all processes; also if a client's callback, or a recorder, fails before that."""
        steps: list[Callable[[], object]] = [self._observer.stop_reporting, self._clients.close]
        steps += [self.view.close, self._home.stop, *(each.stop for each in self._recorders)]
        steps += [self._znodes.close] if self._znodes else []
        steps += [self._end_brokers, self._servers.stop, self._launcher.stop]
        steps += [self._scratch.remove] if self._scratch else []
        with ExitStack() as stack:
            for step in reversed(steps):
                stack.callback(step)

    def _end_brokers(self) -> None:
        for node in self._processes:
            node.expected = False
        children = [node.child for node in self._processes if node.launched]
        end_all(children, SHORT_STOP_TIMEOUT_S if self._scratch else STOP_TIMEOUT_S)
        self._observer.close()
        for node in self._processes:
            node.release_port()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def add_broker(self, kind: str = OURS) -> int:
        """Add a broker with the next number and a free port; returns its number.

        `kind="kafka"`: a broker of Apache Kafka 2.8, where its jars are; see kafka_process.py.
        """
        if kind not in (OURS, KAFKA):
            raise invalid_request(f'"{OURS}" or "{KAFKA}", not {kind!r}')
        if kind == KAFKA:
            self._need_zookeeper('kind="kafka"')
            jars()
        node = self._add(max(self.brokers) + 1, 0, kind)
        self._processes.launch(node)
        self._processes.await_ready(node)
        return node.number

    # -- faults: see faults.py, request_faults.py --------------------------------------------

    def kill(self, broker: End) -> None:
        """SIGKILL, to a broker, a ZooKeeper server ("zookeeper-2"), or all ("zookeeper"); to a
        controller ("controller-1"), or all ("controllers")."""
        self.faults.kill(broker)

    def pause(self, broker: End) -> None:
        """SIGSTOP: as in a long garbage collection."""
        self.faults.pause(broker)

    def resume(self, broker: End) -> None:
        """SIGCONT, to a broker, a ZooKeeper server or a controller that was paused."""
        self.faults.resume(broker)

    def stop_broker(self, broker: int) -> int:
        """SIGTERM: it hands over leadership and closes its logs. Returns its exit code."""
        return self.faults.stop_broker(broker)

    def restart(self, broker: End, *, wait: bool = True) -> None:
        """Start a broker that is down; one that is up is stopped first."""
        self.faults.restart(broker, wait=wait)

    def configure(self, broker: int, settings: Mapping[str, str], **secured: Any) -> None:
        """The broker's next start has these settings, too: see `BrokerProcess.configure`.

        The cluster's own clients (`admin`, `producer`) do not follow it to another protocol.
        """
        self._processes[broker].configure(settings, **secured)

    def cut(self, one: End, other: End, both: bool = True) -> None:
        """Hold back all messages between two brokers, or between a broker and "zookeeper"; between
        a broker and "controller-1", or "controllers"; between two controllers.

        `both=False`: only messages from the first to the other.
        """
        self.faults.cut(one, other, both)

    def slow(self, one: End, other: End, ms: int) -> None:
        """Delay every message between the two, in either direction, by `ms`."""
        self.faults.slow(one, other, ms)

    def heal(self, one: End | None = None, other: End | None = None) -> None:
        """Undo all cuts, delays and faults of answers, or those of the link between two ends."""
        self.faults.heal(one, other)

    def fail_requests(self, broker: int, api: ApiName, error: ErrorName, times: int = 1) -> None:
        """Answer the next requests of clients of this API with an error: "NOT_ENOUGH_REPLICAS"."""
        self.requests.fail(broker, api, error, times)

    def drop_next_answer(self, broker: int, api: ApiName | None = None) -> None:
        """Lose the next answer to a client: its request is done, then the connection breaks."""
        self.requests.drop_next_answer(broker, api)

    def slow_coordinator(self, broker: int, ms: int) -> None:
        """Delay what this broker answers as a coordinator; 0: no longer."""
        self.requests.slow_coordinator(broker, ms)

    def repeat_request(
        self, broker: int, api: ApiName, ms: int | None = None, times: int = 1
    ) -> None:
        """The next request of this API comes again, `ms` later or with `deliver_repeats`."""
        self.requests.repeat(broker, api, ms, times)

    def deliver_repeats(self, broker: int) -> Table:
        """The copies of requests come now; returns what each was, and how it was answered."""
        return self.requests.deliver_repeats(broker)

    def heal_requests(self, broker: int) -> None:
        """Take back all faults of requests and answers on one broker; `heal()` does so on all."""
        self.requests.heal(broker)

    # -- state and events ----------------------------------------------------------------

    def state(self) -> ClusterState:
        """A snapshot of what every broker reports now; see state.py."""
        self.deaths()
        return self._servers.added(self._observer.state(self._links.states()))

    def events(self, after: int = 0) -> list[ClusterEvent]:
        """The events after the event with that number, in order; 0: all of them."""
        self.deaths()
        self._servers.report_events()
        return self._observer.events(after)

    def trace(self, on: bool = True, *, frames: bool = False) -> None:
        """Have every broker emit an event for each request it serves; `frames`: with its bytes."""
        self._processes.report("trace", on=on, frames=frames)

    def count_requests(self, on: bool = True) -> None:
        """Have every broker's state say how many requests of each kind it has answered."""
        self._processes.report("count", on=on)

    def znodes(self) -> ZnodeWatcher:
        """The znodes and their changes, shared by all callers; see znode_watcher.py."""
        self._need_zookeeper("znodes")
        if self._znodes is None:
            self._znodes = ZnodeWatcher(self.zookeeper)
        return self._znodes

    def metadata_log(self) -> MetadataLogReader:
        """The records of the quorum's log, without ZooKeeper: see metadata_log_reader.py."""
        if self._quorum is None:
            raise invalid_request('this cluster has ZooKeeper: see metadata="kraft"')
        return self._quorum.metadata_log

    def record(
        self,
        path: Path | str,
        *,
        znodes: bool = False,
        metadata_log: bool = False,
        files: WantedFiles = (),
        tracks: Mapping[str, Track] = NO_TRACKS,
    ) -> Recorder:
        """Write states, events and tracks to a file, from now on; see recording.py.

        `znodes`: also the znodes and their changes; see znode_watcher.py.
        `metadata_log`: also the records of the quorum's log; see metadata_log_reader.py.
        `files`: also the log files of some partitions (`["orders-0"]`), on all brokers or on some
        (`{"orders-0": [1]}`); see recorded_files.py.
        """
        if znodes:
            tracks = {**tracks, "znodes": self.znodes().track()}
        if metadata_log:
            tracks = {**tracks, LOG_TRACK: self.metadata_log().track()}
        if files:
            tracks = {**tracks, FILES_TRACK: FileTrack(self.directory, lambda: self.brokers, files)}
        recorder = Recorder(Path(path), self.state, self.events, tracks)
        self._recorders.append(recorder)
        return recorder

    def _members(self) -> dict[int, ProcessState]:
        return {node.number: node.member for node in self._processes}

    def _controllers(self) -> dict[int, ProcessState]:
        return self._quorum.members() if self._quorum else {}

    def _voters(self) -> dict[int, ProcessState]:
        """The processes of the quorum: controllers, or brokers."""
        return self._controllers() or self._members()

    def deaths(self) -> list[tuple[End, str]]:
        """Brokers, servers of an ensemble and controllers that have ended by themselves since the
        last call, and why."""
        return [*self._servers.deaths(), *self._processes.deaths()]

    # -- experiments ---------------------------------------------------------------------

    def topic(
        self, name: str, *, partitions: int = 1, replicas: Replicas = 3, **config: object
    ) -> str:
        """Create a topic and wait for its leaders. Returns its name: "orders", then "orders-2" ...

        `replicas`: how many; or the brokers of the one partition, the first leads; or a list of
        brokers for each partition. `config`: of the topic, with _ for each dot.
        """
        return self.topics.create(name, partitions=partitions, replicas=replicas, **config)

    def write(self, topic: str, values: Iterable[str], **how: Any) -> list[int]:
        """Produce records; returns the offsets of those that were acknowledged.

        `partition`, `key`, `timestamp`: of every record; a key may be a function of its value.
        Anything else configures the producer: acks=1.
        """
        return self.topics.write(topic, values, **how)

    def read(self, topic: str, partition: int = 0, **config: object) -> list[str]:
        """Consume one partition from its start to its end."""
        return self.topics.read(topic, partition, **config)

    def records(self, topic: str, **config: Any) -> Table:
        """Consume all partitions: a row for each record, in the order in which they came."""
        return self.topics.records(topic, **config)

    def leader(self, topic: str, partition: int = 0) -> int:
        """As ZooKeeper has it, or the quorum; -1: there is none."""
        return self.topics.leader(topic, partition)

    def isr(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """The ISR of a partition, as ZooKeeper has it, or the quorum."""
        return self.topics.isr(topic, partition)

    def znode(self, path: str) -> bytes | None:
        """The data of a znode; None: there is no such znode."""
        self._need_zookeeper("znode")
        found = self._zookeeper_view.znode(path)
        return found and found[0]

    def children(self, path: str) -> list[str]:
        self._need_zookeeper("children")
        return self._zookeeper_view.children(path)

    def wait(self, what: str, condition: Callable[[], T], seconds: float = 60) -> T:
        """Wait until a condition is true, and return what it returned.

        `what` is waited for; the error names it: cluster.wait("a new leader", lambda: ...).
        """
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not within {seconds:g} seconds")
            time.sleep(CHECK_S)
        return found

    def mend(self) -> None:
        """Undo every fault: heal links, start brokers, wait until all replicas are in sync."""
        self.faults.mend()
        self.wait("a session of every broker", self._have_sessions)
        self.wait("all replicas in sync", self.topics.in_sync)

    def _have_sessions(self) -> bool:
        """Not so while a broker is registered that was paused for too long."""
        return all(
            self.view.has_session(number, broker)
            for number, broker in self.state().brokers.items()
            if not self._processes[number].is_kafka
        )

    # -- brokers -------------------------------------------------------------------------

    def _add(self, number: int, port: int, kind: str = OURS) -> BrokerProcess:
        made = KafkaProcess if kind == KAFKA else BrokerProcess
        node = made(
            *(number, port, self.directory(number), self._config, self._security), self._rules
        )
        reporter = KafkaReporter(node, self._zookeeper_view.ask) if node.is_kafka else None
        self._observer.report(number, reporter)
        return self._processes.add(node)


def _check(brokers: int, port: int) -> None:
    needs_processes("A cluster")
    if brokers < 1:
        raise invalid_config(f"a cluster has brokers, not {brokers}")
    if port and port + brokers - 1 > LAST_PORT:
        raise invalid_config(f"{brokers} ports from {port} on: the last is {LAST_PORT}")
