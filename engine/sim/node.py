"""One broker of the simulated cluster: a machine with a disk, and the process that runs on it.

    Node                                 Life
      start ──────────────────────────>    logs, ZooKeeper, /brokers/ids/N, then whatever comes
      pause, resume   SIGSTOP, SIGCONT     everything waits
      kill            SIGKILL              gone; the disk has all that was written
      power_cut                            gone, and what was not flushed with it
      stop            SIGTERM              hands over what it leads, flushes, says goodbye

The deciding code is the real broker's: `Replicas`, `Controller` and `Coordinator`. Around them
stands here, on a virtual clock, what broker/process.py puts around them there: the same effects,
retries and delays.

Left out: configurations arrive at once, without notes in ZooKeeper; so does what a client knows of
the cluster. A broker has one disk, and it does not fail.
"""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

from engine.broker.metadata import NO_BROKER, Metadata
from engine.config import BrokerConfig, TopicConfig
from engine.controller import znodes
from engine.controller.asks import Create, Delete, Exists, Refused, Work
from engine.controller.controller import Controller
from engine.controller.events import Rebalance, UncleanAllowed
from engine.coordinator.coordinator import Coordinator
from engine.errors import ErrorCode
from engine.model import Event, TopicPartition
from engine.replication.replicas import Replicas
from engine.sim.clock import Clock
from engine.sim.controlling import Controlling
from engine.sim.defects import SOUND, Defect
from engine.sim.disk import Disk, Log
from engine.sim.groups import Groups
from engine.sim.keeper import Keeper, carry_out
from engine.sim.network import Network
from engine.sim.process import Line, Process
from engine.sim.replicating import Fetching, Syncing
from engine.sim.serving import Serving
from engine.storage.log import Emit
from engine.wire.messages.controlled_shutdown import ControlledShutdownRequest

AGAIN = 500  # ms between two attempts to register
LOOK = 10  # ms between two looks at the metadata, while a stopping broker waits for news in it
PORT = 9091  # and one more for each broker


def machine(broker: int) -> str:
    """Its name in the network."""
    return f"broker-{broker}"


class Node:
    def __init__(
        self,
        broker: int,
        clock: Clock,
        network: Network,
        random: Random,
        config_of: Callable[[BrokerConfig, str], TopicConfig],
        emit: Callable[[int, Event], None],
        defect: Defect = SOUND,
        **settings: str,
    ) -> None:
        self.id = broker
        self.disk = Disk()
        self.life: Life | None = None  # while a process runs
        self.skew = 0  # ms by which its clock is ahead
        given = {"broker.id": str(broker), "zookeeper.connect": "zookeeper:2181"}
        self.config = BrokerConfig.parse(given | settings)
        self._clock, self._network, self._random = clock, network, random
        self._config_of = config_of
        self._emit, self._defect = emit, defect

    def now(self) -> int:
        return self._clock.now + self.skew

    @property
    def running(self) -> "Life":
        assert self.life is not None, f"broker {self.id} is down"
        return self.life

    @property
    def is_up(self) -> bool:
        return self.life is not None

    def start(self) -> None:
        assert self.life is None, f"broker {self.id} is up"
        process = Process(self._clock, self._network, machine(self.id))
        emit = partial(self._emit, self.id)
        config_of = partial(self._config_of, self.config)
        replicas = self._defect.replicas(self.config, [self.disk], self.now, emit)
        self.life = Life(
            process,
            replicas,
            self.disk,
            self._random,
            emit,
            config_of,
            self._over,
            self._defect.coordinator,
        )

    def kill(self) -> None:
        self.running.process.kill()
        self._over()

    def power_cut(self) -> int:
        """Returns how many records were lost."""
        self.kill()
        return self.disk.power_cut()

    def stop(self) -> None:
        self.running.stop()

    def pause(self) -> None:
        self.running.process.pause()

    def resume(self) -> None:
        self.running.process.resume()

    def _over(self) -> None:
        self.life = None

    def log(self, partition: TopicPartition) -> Log | None:
        return self.disk.logs.get(partition)


class Life:
    """A process, from its start to its end."""

    def __init__(
        self,
        process: Process,
        replicas: Replicas,
        disk: Disk,
        random: Random,
        emit: Emit,
        config_of: Callable[[str], TopicConfig],
        over: Callable[[], None],
        coordinator: type[Coordinator],
    ) -> None:
        disk.emit = emit
        self.process = process
        self.metadata = Metadata()
        self.replicas, config = replicas, replicas.config
        self.replicas.elsewhere = lambda partition: self.metadata.partition(partition) is not None
        self.replicas.load(config_of)
        self.keeper = Keeper(
            process,
            config.zookeeper_session_timeout_ms,
            self._connected,
            lambda: None,  # questions wait, and that is all
            self._expired,
        )
        controller = Controller(config.broker_id, config, replicas.now, emit)
        self.controlling = Controlling(process, controller, self.keeper, machine)
        self._config, self._disk, self._over = config, disk, over
        self._emit, self._config_of = emit, config_of
        self._registered = self._registering = self._stopping = False
        self._fetching = Fetching(process, self.replicas, self._address)
        self._syncing = Syncing(process, self.replicas, self.keeper)
        self.replicas.stirred += self._fetching.look, self._syncing.look
        self.groups = Groups(process, replicas, self.metadata, random, emit, coordinator)
        serving = Serving(
            process, replicas, self.metadata, self.controlling, self.groups, random, emit
        )
        process.serve(serving.handle)
        self._look_after()
        self.keeper.connect()

    def _look_after(self) -> None:
        config, every = self._config, self.process.every
        every(max(1, config.replica_lag_time_max_ms // 2), self.replicas.tick)
        every(config.replica_high_watermark_checkpoint_interval_ms, self.replicas.checkpoint)
        every(min(config.log_flush_scheduler_interval_ms, 1000), self.replicas.flush_due)
        if config.auto_leader_rebalance_enable:
            every(
                config.leader_imbalance_check_interval_seconds * 1000,
                lambda: self.controlling.note(Rebalance()),
            )

    def _address(self, broker: int) -> str | None:
        return machine(broker) if self.metadata.node(broker) else None

    def configured(self, topic: str) -> None:
        """A topic has another configuration now."""
        self.replicas.reconfigure(self._config_of)
        if self.controlling.controller.active:
            self.controlling.note(UncleanAllowed(topic))

    # -- a place in the cluster ----------------------------------------------------------

    def _connected(self) -> None:
        self.controlling.connected()
        self._enter()

    def _expired(self) -> None:
        """Nobody knows us any more: begin again."""
        self._registered = False
        self.controlling.expired()

    def _enter(self) -> None:
        if not (self._registered or self._registering or self._stopping):
            self._registering = True
            carry_out(self.keeper, self._register(), self._entered, self._not_entered)

    def _register(self) -> Work[Any]:
        """What broker/registration.py does; the answer to the last question is the result."""
        paths = znodes.broker_path(self._config.broker_id), znodes.CONTROLLER
        yield [Create(path, parents=True) for path in znodes.PERSISTENT_PATHS]
        found = yield [Exists(path) for path in paths]
        own = [
            Delete(path)
            for path, stat in zip(paths, found, strict=True)
            if stat and stat.owner == self._disk.session
        ]
        if own:
            yield own
        self._disk.session = self.keeper.session
        endpoint = znodes.Endpoint("PLAINTEXT", "127.0.0.1", PORT + self._config.broker_id)
        node = znodes.Broker((endpoint,), self.replicas.now(), self._config.broker_rack)
        return (yield [Create(paths[0], node.encode(), ephemeral=True)])[0]

    def _entered(self, created: Any) -> None:
        self._registering = False
        if isinstance(created, Refused):  # the id is another's, who is alive
            facts = {"broker": self._config.broker_id, "why": created.reason.value}
            self._emit(Event("broker.refused", self.replicas.now(), facts))
            self._die()
            return
        self._registered = True
        self.replicas.broker_epoch = created.czxid
        self.controlling.began()

    def _not_entered(self) -> None:
        self._registering = False
        self.process.after(AGAIN, self._enter)

    # -- an orderly end ------------------------------------------------------------------

    def stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            self._hand_over(self._config.controlled_shutdown_max_retries)

    def _hand_over(self, tries: int) -> None:
        """Ask the controller who takes over what we lead; again, while somebody could."""
        controller = self.metadata.controller
        if not self._config.controlled_shutdown_enable or not tries:
            self._end()
        elif controller == NO_BROKER:
            self._handed_over(tries, controller, None)
        else:
            line = Line(self.process, machine(controller), self._config.replica_socket_timeout_ms)
            request = ControlledShutdownRequest(
                broker_id=self._config.broker_id, broker_epoch=self.replicas.broker_epoch
            )
            line.ask(request, partial(self._handed_over, tries, controller))

    def _handed_over(self, tries: int, controller: int, response: Any) -> None:
        left = None
        if response is not None and response.error_code == ErrorCode.none:
            left = [
                TopicPartition(each.topic_name, each.partition_index)
                for each in response.remaining_partitions
            ]
        if left is not None and not any(map(self._can_move, left)):
            self._end()
            return
        backoff = self._config.controlled_shutdown_retry_backoff_ms
        self._wait(tries, controller, left, self.process.clock.now + backoff)

    def _wait(
        self, tries: int, controller: int, left: list[TopicPartition] | None, until: int
    ) -> None:
        settled = left is not None and not any(map(self._can_move, left))
        known = self.metadata.controller == controller
        if settled or not known or self.process.clock.now >= until:
            self._hand_over(tries - 1)
        else:
            self.process.after(LOOK, self._wait, tries, controller, left, until)

    def _can_move(self, partition: TopicPartition) -> bool:
        info = self.metadata.partition(partition)
        return info is not None and any(
            each != self._config.broker_id and each in self.metadata.brokers for each in info.isr
        )

    def _end(self) -> None:
        self.replicas.close()
        self.keeper.say_goodbye()
        self._die()

    def _die(self) -> None:
        self.process.kill()
        self._over()


def overrides_of(data: bytes | None) -> Mapping[str, str]:
    """What /config/topics/T says."""
    return znodes.decode_config(data or b"")
