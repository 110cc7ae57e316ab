"""A quorum of controllers as the metadata of a simulated cluster: their machines, and the truth.

    metadata.create("orders", [[1, 2, 3]], {})     as an administrator asks the active controller
    metadata.kill_server(102)                      one controller
    metadata.image                                 what is committed, by whoever knows most of it

A request that finds no active controller, or whose controller is lost meanwhile, is made again.

The controllers have machines of their own, or each is in the process of a broker (combined nodes):
then it lives and dies with the broker, and there is no server of the metadata that could be killed.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from engine.broker.rules import Rules
from engine.cluster.link_faults import FIRST_CONTROLLER
from engine.config.kraft import by_role
from engine.config.quorum import ControllerConfig, VoterAddress
from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import PartitionRegistration
from engine.metadata.image import MetadataImage
from engine.model import Event, TopicPartition
from engine.quorum_server.gateway import QuorumGateway
from engine.sim.clock import Clock
from engine.sim.network import Network
from engine.sim.peer import listener_of
from engine.sim.quorum.controller_node import NodeBuilt, SimulatedController
from engine.sim.quorum.controller_peer import CONTROLLER

QUORUM_PORT = 9200  # of the listeners, and one more for each node
RETRY_MS = 200  # between two attempts of an administrator
ANSWER_MS = 5000  # until an administrator takes a request for lost
DONE = {ErrorCode.topic_already_exists}  # by an attempt before

Work = Callable[[QuorumGateway], Coroutine[Any, Any, Any]]


class QuorumMetadata:
    def __init__(
        self,
        clock: Clock,
        network: Network,
        controllers: int,
        combined: Sequence[int],
        config: Mapping[str, str],
        rules: Rules,
        built: NodeBuilt,
        emit: Callable[[int, Event], None],
        note: Callable[..., None],
    ) -> None:
        """`combined`: brokers that are the controllers, if there are no others."""
        own = range(FIRST_CONTROLLER, FIRST_CONTROLLER + controllers)
        ids = own or combined
        voters = {id: VoterAddress("127.0.0.1", QUORUM_PORT + id) for id in ids}
        settings = ControllerConfig.parse(by_role(config).controller)
        self.controllers = {
            id: SimulatedController(
                *(id, voters, settings, clock, network, emit), rules.elect, built
            )
            for id in ids
        }
        self._voters, self._clock, self._note = voters, clock, note
        self._servers = own  # the controllers that have machines of their own
        self._image = MetadataImage()  # the newest that was seen
        for id in own:
            self.start_server(id)

    def settings(self, broker: int) -> Mapping[str, str]:
        voters = ",".join(f"{id}@{at.host}:{at.port}" for id, at in self._voters.items())
        settings = {
            "process.roles": "broker",
            "node.id": str(broker),
            "controller.quorum.voters": voters,
            "controller.listener.names": CONTROLLER,
        }
        if broker in self._voters:
            host, port = self._voters[broker]
            settings["process.roles"] = "broker,controller"
            settings["listeners"] = f"{listener_of(broker)},{CONTROLLER}://{host}:{port}"
        return settings

    # -- the controllers -------------------------------------------------------------------

    @property
    def machines(self) -> list[str]:
        return [self.controllers[id].machine for id in self._servers]

    @property
    def controller(self) -> int | None:
        """The node that is active in the newest epoch."""
        active = [
            (node.controller.raft.client.epoch, id)
            for id, node in self.controllers.items()
            if node.is_active and node.controller is not None
        ]
        return max(active)[1] if active else None

    @property
    def controller_epoch(self) -> int | None:
        return self.image.epoch

    @property
    def has_controller(self) -> bool:
        return self.controller is not None

    @property
    def is_whole(self) -> bool:
        return not self.away and self.has_controller

    def is_settled(self, broker: int, epoch: int) -> bool:
        known = self.image.brokers.get(broker)
        return known is not None and known.epoch == epoch and known.is_active

    @property
    def up(self) -> list[int]:
        return [id for id in self._servers if id not in self.away]

    @property
    def away(self) -> list[int]:
        """The controllers with machines of their own that are down or paused."""
        found = [(id, self.controllers[id].current) for id in self._servers]
        return [id for id, process in found if process is None or process.paused]

    @property
    def departures(self) -> Sequence[Callable[[int], None]]:
        return self.kill_server, self.silence_server, self.power_cut_server

    def start_server(self, id: int) -> None:
        self.controllers[id].start()
        self._note("controller.started", controller=id)

    def kill_server(self, id: int) -> None:
        self._note("controller.killed", controller=id)
        self.controllers[id].kill()

    def power_cut_server(self, id: int) -> None:
        """What it had not flushed is lost."""
        self._note("controller.lost-power", controller=id)
        self.controllers[id].power_cut()

    def silence_server(self, id: int) -> None:
        """It is paused."""
        self._note("controller.paused", controller=id)
        process = self.controllers[id].current
        assert process is not None
        process.pause()

    def restart_server(self, id: int) -> None:
        process = self.controllers[id].current
        if process is None:
            self.start_server(id)
        else:
            self._note("controller.resumed", controller=id)
            process.resume()

    # -- the truth -------------------------------------------------------------------------

    @property
    def image(self) -> MetadataImage:
        """By the controller that knows most; after a restart it has to learn it anew."""
        for node in self.controllers.values():
            if node.controller is not None:
                known = node.controller.loader.image
                self._image = max(self._image, known, key=lambda image: image.offset)
        return self._image

    def state(self, partition: TopicPartition) -> PartitionRegistration | None:
        return self.image.partition(partition)

    def replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        state = self.state(partition)
        return state.replicas if state else ()

    # -- administration --------------------------------------------------------------------

    def create(
        self, topic: str, replicas: Sequence[Sequence[int]], config: Mapping[str, str]
    ) -> None:
        assignment = {n: tuple(ids) for n, ids in enumerate(replicas)}
        self._persist(lambda gateway: gateway.create_topic(topic, assignment, config))

    def delete(self, topic: str) -> None:
        self._persist(lambda gateway: gateway.delete_topic(topic))

    def configure(self, topic: str, config: Mapping[str, str]) -> None:
        known = self.image.configs.get(("topics", topic), {})
        values = {**known, **config}
        self._persist(lambda gateway: gateway.alter_config("topics", topic, values))

    def elect(
        self, partition: TopicPartition, done: Callable[[Any], object], *, unclean: bool = False
    ) -> None:
        wanted = frozenset({partition})
        self._ask(lambda gateway: gateway.elect_leaders(wanted, unclean=unclean), done)

    def reassign(
        self, moves: Mapping[TopicPartition, tuple[int, ...] | None], done: Callable[[Any], object]
    ) -> None:
        self._ask(lambda gateway: gateway.alter_reassignments(moves), done)

    def _persist(self, work: Work) -> None:
        """Try this work again and again, until a controller has done it."""
        attempt = _Attempt()

        def answered(answer: Any) -> None:
            if attempt.is_over:
                return
            attempt.is_over = True
            if isinstance(answer, ApiException) and answer.code not in DONE:
                self._clock.after(RETRY_MS, self._persist, work)

        self._clock.after(ANSWER_MS, answered, ApiException(ErrorCode.request_timed_out))
        if self.controller is None:
            answered(ApiException(ErrorCode.not_controller))
        else:
            self._ask(work, answered)

    def _ask(self, work: Work, done: Callable[[Any], object]) -> None:
        """`done` gets the result, or the error; nothing, if the controller is lost meanwhile."""
        assert self.controller is not None, "there is no active controller"
        node = self.controllers[self.controller]
        process, controller = node.current, node.controller
        assert process is not None and controller is not None

        async def ask() -> None:
            try:
                done(await work(controller.gateway))
            except ApiException as error:
                done(error)

        process.do(lambda: process.spawn(ask()))


class _Attempt:
    is_over = False
