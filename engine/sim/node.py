"""One broker of the simulated cluster: a machine with a disk, and the process that runs on it.

    SimulatedBroker                      RunningBroker, one process
      start ──────────────────────────>    engine/broker, on an event loop of its own
      pause, resume   SIGSTOP, SIGCONT     the loop does not run: timers and messages wait
      kill            SIGKILL              the loop is closed; the disk has all that was written
      power_cut                            the same, and what was not flushed is lost
      stop            SIGTERM              a controlled shutdown

All of engine/broker runs here unchanged: start and registration, handlers, fetchers, the ISR
writer, the controller, the coordinators, controlled shutdown. Only its environment is replaced
(environment.py): the clock, the disk, and the connections to brokers, clients and ZooKeeper.

Left out: a broker has one disk, and it does not fail; the log cleaner and idle connections.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

from engine.broker.broker import Broker
from engine.broker.broker_server import BrokerServer
from engine.broker.rules import KAFKAS, Rules
from engine.broker.zookeeper.gateway import gateway_of
from engine.config import BrokerConfig
from engine.config.kraft import KRaftBrokerConfig
from engine.coordinator.group import Group
from engine.errors import ApiException, ErrorCode
from engine.model import Event, TopicPartition
from engine.sim.clock import Clock
from engine.sim.disk import Disk, MemoryLog
from engine.sim.environment import SimulatedEnvironment
from engine.sim.loop import Loop
from engine.sim.network import Network
from engine.sim.peer import listener_of, machine
from engine.sim.process import SimulatedProcess
from engine.sim.quorum.controller_node import NodeBuilt, SimulatedController, unchanged
from engine.sim.quorum.quorum_disk import QuorumDisk
from engine.storage.log import Emit

REFUSED = {ErrorCode.duplicate_broker_registration}  # errors for which a broker may stop
LEFT_OUT = {"log.cleaner.enable": "false", "connections.max.idle.ms": "-1"}

logging.getLogger("engine.broker").addHandler(logging.NullHandler())  # events are enough


class SimulatedBroker:
    def __init__(
        self,
        broker: int,
        clock: Clock,
        network: Network,
        emit: Callable[[int, Event], None],
        rules: Rules = KAFKAS,
        controller: SimulatedController | None = None,
        built: NodeBuilt = unchanged,
        **settings: str,
    ) -> None:
        """`controller`: of a combined node."""
        self.id = broker
        self.disk = Disk()
        self.current: RunningBroker | None = None  # while a process runs
        self.skew = 0  # ms by which its clock is ahead
        # Of its copy of the metadata log, without ZooKeeper.
        self.metadata_disk = QuorumDisk() if controller is None else controller.disk
        given = {"listeners": listener_of(broker)}
        self._settings = given | LEFT_OUT | settings
        self._kind = KRaftBrokerConfig if "process.roles" in settings else BrokerConfig
        self.config: BrokerConfig = self._kind.parse(self._settings)
        self._clock, self._network = clock, network
        self._random = Random(broker)  # of all its processes, so that ids are unique
        self._emit, self._rules = partial(emit, broker), rules
        self._controller, self._built = controller, built
        self._loops: list[Loop] = []  # of all its processes: kept, so that no task is destroyed

    def now(self) -> int:
        return self._clock.now + self.skew

    @property
    def running(self) -> "RunningBroker":
        assert self.current is not None, f"broker {self.id} is down"
        return self.current

    @property
    def process(self) -> SimulatedProcess | None:
        """None while the broker is down."""
        return None if self.current is None else self.current.process

    @property
    def broker(self) -> Broker | None:
        """None while the process is down or still starting."""
        return self.current.built if self.current is not None else None

    @property
    def is_up(self) -> bool:
        return self.current is not None

    def configure(self, settings: Mapping[str, str]) -> None:
        """The next process starts with these settings, too; the current one goes on as it is."""
        self._settings |= settings
        self.config = self._kind.parse(self._settings)

    def start(self) -> None:
        assert self.current is None, f"broker {self.id} is up"
        process = SimulatedProcess(self._clock, self._network, machine(self.id))
        self._loops.append(process.start_loop())
        environment = SimulatedEnvironment(
            *(self.config, process, self.disk, self.metadata_disk, self._random, self.now),
            *(self._emit, self._rules, self._controller, self._built),
        )
        self.current = RunningBroker(process, environment, self._emit, self._over)

    def kill(self) -> None:
        self.running.process.kill()
        self._over()

    def power_cut(self) -> int:
        """Returns how many records were lost."""
        self.kill()
        self.metadata_disk.power_cut()
        return self.disk.power_cut()

    def _over(self) -> None:
        self.current = None

    def log(self, partition: TopicPartition) -> MemoryLog | None:
        return self.disk.logs.get(partition)


class RunningBroker:
    """A process, from its start to its end."""

    def __init__(
        self,
        process: SimulatedProcess,
        environment: SimulatedEnvironment,
        emit: Emit,
        over: Callable[[], None],
    ) -> None:
        self.process = process
        self.environment = environment
        self.is_stopping = False  # a controlled shutdown is in progress
        self.built: Broker | None = None  # None while the process still looks for ZooKeeper
        self._emit, self._over = emit, over
        process.do(self._start)

    def _start(self) -> None:
        self.server = BrokerServer(self.environment.config, self.environment, self._note)
        self.process.spawn(self._run())

    def _note(self, broker: Broker) -> None:
        self.built = broker

    async def _run(self) -> None:
        try:
            await self.server.run(lambda port: None)
        except (ApiException, TimeoutError) as error:
            if isinstance(error, ApiException) and error.code not in REFUSED:
                raise
            facts = {"broker": self.environment.config.broker_id, "why": str(error)}
            self._emit(Event("broker.refused", self.environment.now(), facts))
        self.process.kill()
        self._over()

    def stop(self) -> None:
        assert self.environment.stop is not None
        self.is_stopping = True
        self.process.do(self.environment.stop)

    def ask_controller(self, event: Any, done: Callable[[Any], object]) -> None:
        """As an administrator's request does; `done` gets the result, or the error."""

        async def ask() -> None:
            try:
                if self.built is None:
                    raise ApiException(ErrorCode.not_controller, "this broker is still starting")
                done(await gateway_of(self.built).controller_service.ask(event))
            except ApiException as error:
                done(error)

        self.process.do(lambda: self.process.spawn(ask()))

    # -- state ---------------------------------------------------------------------------

    @property
    def broker(self) -> Broker:
        assert self.built is not None, "it is still starting"
        return self.built

    @property
    def session(self) -> int | None:
        """With ZooKeeper; None while there is no connection."""
        client = self.environment.zookeeper_client
        return client.session_id if client is not None else None

    def group(self, group_id: str) -> Group | None:
        """None if this broker does not know the group, or is not its coordinator."""
        try:
            return self.broker.groups.coordinator.groups.find(group_id)
        except ApiException:
            return None
