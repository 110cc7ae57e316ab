"""What happened in a run, line by line: messages as they arrive, and changes of nodes.

3.412   2 -> 1   VoteRequest epoch 6, candidate 2, log_end 66-5
3.412   1        unattached in epoch 6, high watermark 65, log 64 to 66
3.420   1        ended
"""

from typing import NamedTuple

from engine.errors import ErrorCode
from engine.raft.messages import RaftMessage, RaftRequest, RaftResponse
from engine.raft.model import OffsetAndEpoch
from proof.quorum.defects import QUORUM_DEFECTS, SOUND_QUORUM
from proof.quorum.node import QuorumNode
from proof.quorum.run import SECONDS_OF_STORM, QuorumRun
from proof.storms.invariants import Violation


class QuorumRecipe(NamedTuple):
    """All that a run follows from."""

    seed: int
    seconds: float = SECONDS_OF_STORM
    defect: str = ""  # a name in QUORUM_DEFECTS

    def run(self) -> QuorumRun:
        defect = QUORUM_DEFECTS[self.defect] if self.defect else SOUND_QUORUM
        return QuorumRun(self.seed, self.seconds, defect=defect)

    @property
    def command(self) -> str:
        """The command that replays the run."""
        words = [f"python -m engine simulate --quorum --seed {self.seed}"]
        words += [f"--seconds {self.seconds:g}"]
        words += [f"--defect {self.defect}"] if self.defect else []
        return " ".join(words)


class QuorumTrace:
    def __init__(self, recipe: QuorumRecipe) -> None:
        self.violation: Violation | None = None
        self.lines: list[str] = []
        self._states: dict[int, str] = {}
        run = recipe.run()
        self._clock = run.world.clock
        for node in run.world.nodes.values():
            node.heard.append(self._heard)
            node.written.insert(0, self._written)
            node.ended.append(self._ended)
        try:
            run.go()
        except Violation as violation:
            self.violation = violation
        self.end = run.world.now

    def _add(self, who: str, what: str) -> None:
        self.lines.append(f"{self._clock.now / 1000:7.3f}   {who:<8} {what}")

    def _heard(self, node: QuorumNode, message: RaftMessage) -> None:
        self._add(f"{message.peer} -> {node.id}", body_text(message.body))

    def _written(self, node: QuorumNode) -> None:
        client = node.client
        assert client is not None
        state = f"{client.state.value} in epoch {client.epoch}"
        if client.leader not in (None, node.id):
            state += f" of {client.leader}"
        start, end = client.log.start_offset, client.log.end.offset
        state += f", high watermark {client.high_watermark}, log {start} to {end}"
        if self._states.get(node.id) != state:
            self._states[node.id] = state
            self._add(f"{node.id}", state)

    def _ended(self, node: QuorumNode) -> None:
        self._states.pop(node.id, None)
        self._add(f"{node.id}", "ended")


def body_text(body: RaftRequest | RaftResponse) -> str:
    told = [
        f"{name} {_value_text(value)}"
        for name, value in body._asdict().items()
        if name != "cluster_id" and value not in (None, b"", False, (), ErrorCode.none)
    ]
    return f"{type(body).__name__} {', '.join(told)}"


def _value_text(value: object) -> str:
    match value:
        case OffsetAndEpoch(offset, epoch):
            return f"{offset}-{epoch}"
        case ErrorCode():
            return value.name
        case bytes():
            return f"of {len(value)} bytes"
    return str(value)
