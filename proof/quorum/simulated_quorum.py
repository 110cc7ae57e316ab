"""A simulated quorum to act on: the controllers of engine/raft, a clock that waits for you.

    quorum = SimulatedQuorum(voters=3)
    quorum.run(2)                    two seconds pass
    quorum.kill(quorum.leader)
    quorum.append("topic orders")    the leader's application writes a record
    quorum.film                      all that has happened

The same seed and the same acts make the same run. Times are shorter than Kafka's defaults, and
messages slower than on a network of today, so that both can be seen in one picture.
"""

from collections.abc import Callable, Sequence

from engine.errors import ApiException, ErrorCode
from engine.raft.model import QuorumConfig
from engine.raft.states import RaftState
from engine.storage import records
from engine.storage.batch import scan
from engine.storage.records import Record, stream
from proof.quorum.film import QuorumFilm
from proof.quorum.moments import NodeMoment
from proof.quorum.network import RaftWay
from proof.quorum.node import QuorumNode
from proof.quorum.world import QUICK, QuorumWorld

DELAY_MS = (10, 30)
LONGEST_WAIT = 30.0  # seconds
TURN_MS = 10


class SimulatedQuorum:
    def __init__(
        self,
        voters: int = 3,
        *,
        seed: int = 7,
        observers: Sequence[int] = (),
        delay_ms: tuple[int, int] = DELAY_MS,
        config: QuorumConfig = QUICK,
        pre_vote: bool = False,
    ) -> None:
        self.world = QuorumWorld(
            seed,
            voters,
            config=config._replace(pre_vote=pre_vote),
            observers=observers,
            way=RaftWay(delay_ms),
        )
        self.film = QuorumFilm.of(self.world)

    # -- what is so ------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """Milliseconds since the quorum began."""
        return self.world.now

    @property
    def leader(self) -> int | None:
        """The node that leads the newest epoch, if one does."""
        leader = self.world.leader
        return None if leader is None else leader.id

    @property
    def epoch(self) -> int:
        """The newest epoch that a node knows."""
        return max(self.node(id).epoch for id in self.world.nodes)

    @property
    def leaders(self) -> dict[int, int]:
        """Who led each epoch."""
        leading = RaftState.LEADER
        films = self.film.nodes.items()
        return {it.epoch: id for id, film in films for it in film if it.state is leading}

    def node(self, id: int) -> NodeMoment:
        self._at(id)
        return self.film.nodes[id][-1]

    def log(self, id: int) -> list[str]:
        """The application's records on the disk of a node."""
        log = self._at(id).disk.log
        data = log.read(log.start_offset, 2**31).read()
        found = [data[at : at + it.size] for at, it in scan(data) if not it.is_control]
        return [(record.value or b"").decode() for batch in found for record in stream(batch)]

    # -- time ------------------------------------------------------------------------------

    def run(self, seconds: float = 1.0) -> None:
        """Let so many simulated seconds pass."""
        self.world.clock.run_until(self.now + round(seconds * 1000))

    def until(self, condition: Callable[[], object], at_most: float = LONGEST_WAIT) -> bool:
        """Time passes until the condition holds. False: it does not, after so many seconds."""
        end = self.now + round(at_most * 1000)
        while not condition() and self.now < end:
            self.world.clock.run_until(self.now + TURN_MS)
        return bool(condition())

    # -- what is done ----------------------------------------------------------------------

    def append(self, text: str, node: int | None = None) -> int:
        """Write a record as the leader's application. Returns its offset. It is committed later, or
        never."""
        chosen = self.leader if node is None else node
        if chosen is None:
            raise ApiException(ErrorCode.not_controller, "no controller leads: nothing is written")
        writer = self._at(chosen)
        if writer.client is None or not writer.client.is_leader:
            raise ApiException(ErrorCode.not_controller, f"{chosen} does not lead")
        self.film.add(self.now, "append", f"{chosen} writes {text!r}", chosen)
        offset = writer.append(records.encode([Record(0, self.now, None, text.encode())]))
        assert offset is not None, "this disk writes"
        return offset

    def kill(self, id: int) -> None:
        self._do(id, "kill", f"{id} is killed", QuorumNode.kill)

    def power_cut(self, id: int) -> None:
        """Killed, and what was not flushed is gone."""
        self._do(id, "kill", f"the power of {id} fails", QuorumNode.kill)
        self._at(id).disk.power_cut()

    def start(self, id: int) -> None:
        if self._at(id).client is None:
            self._do(id, "start", f"{id} is started", QuorumNode.start)

    def pause(self, id: int) -> None:
        self._do(id, "pause", f"{id} is paused", QuorumNode.pause)

    def resume(self, id: int) -> None:
        self._do(id, "resume", f"{id} goes on", QuorumNode.resume)

    def resign(self, id: int) -> None:
        self._do(id, "resign", f"{id} is asked to stop in order", QuorumNode.resign)

    def snapshot(self, id: int) -> None:
        self._do(id, "act", f"{id} writes a snapshot", QuorumNode.snapshot)

    def cut(self, one: int, other: int) -> None:
        self.film.add(self.now, "cut", f"{one} and {other} do not reach each other", one, other)
        self.world.network.cut(one, other)

    def isolate(self, id: int) -> None:
        """Nobody reaches it, and it reaches nobody."""
        self._at(id)
        self.film.add(self.now, "cut", f"{id} is cut off from all others", id)
        for other in self.world.nodes:
            self.world.network.cut(id, other)

    def heal(self) -> None:
        self.film.add(self.now, "heal", "all ways are whole again")
        self.world.network.ways.clear()

    def _at(self, id: int) -> QuorumNode:
        node = self.world.nodes.get(id)
        if node is None:
            known = ", ".join(map(str, self.world.nodes))
            raise ApiException(ErrorCode.invalid_request, f"there is no node {id}, only {known}")
        return node

    def _do(self, id: int, kind: str, words: str, act: Callable[[QuorumNode], object]) -> None:
        node = self._at(id)
        self.film.add(self.now, kind, words, id)
        act(node)
        self.film.see(node, self.now)
