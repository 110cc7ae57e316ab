"""What broker/fetching.py and broker/syncing.py are, on the virtual clock.

Fetching   one conversation with each broker that leads something we have a replica of
Syncing    changes of the in-sync replicas, written to ZooKeeper by compare-and-set
"""

from collections.abc import Callable, Sequence
from typing import Any

from engine.controller import znodes
from engine.controller.asks import Create, Get, Node, Refused, Set, Work
from engine.replication.fetcher import Fetcher
from engine.replication.partition import Proposal
from engine.replication.replicas import Replicas
from engine.sim.clock import Timer
from engine.sim.keeper import Keeper, carry_out
from engine.sim.process import Line, Process

PAUSE = 100  # ms between two attempts to reach ZooKeeper


class Fetching:
    def __init__(
        self, process: Process, replicas: Replicas, address: Callable[[int], str | None]
    ) -> None:
        self._process = process
        self._replicas = replicas
        self._address = address  # the machine of a broker, if it is known to live
        self._conversations: dict[int, Conversation] = {}  # by leader

    def look(self) -> None:
        """Roles have changed: follow whom we are to follow."""
        fetchers = self._replicas.fetchers
        for leader in [each for each in self._conversations if each not in fetchers]:
            self._conversations.pop(leader).close()
        for leader, fetcher in fetchers.items():
            known = self._conversations.get(leader)
            if known is None or known.fetcher is not fetcher:
                if known is not None:
                    known.close()
                known = Conversation(self._process, self._replicas, fetcher, self._address)
                self._conversations[leader] = known
            known.stir()


class Conversation:
    def __init__(
        self,
        process: Process,
        replicas: Replicas,
        fetcher: Fetcher,
        address: Callable[[int], str | None],
    ) -> None:
        self.fetcher = fetcher
        self._process = process
        self._replicas = replicas
        self._address = address
        self._line: Line | None = None
        self._asking = False
        self._timer: Timer | None = None
        self._open = True

    def close(self) -> None:
        self._open = False
        if self._line is not None:
            self._line.close()

    def stir(self) -> None:
        """There may be something to ask; but not before whoever stirs us has finished."""
        if self._open and not self._asking:
            self._wake(0)

    def _wake(self, delay: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._process.after(delay, self._ask)

    def _ask(self) -> None:
        if not self._open or self._asking:
            return
        now = self._replicas.now()
        request = self.fetcher.next(now)
        if request is None:
            due = self.fetcher.due()
            if due is not None:
                self._wake(max(due - now, 1))
            return
        address = self._address(self.fetcher.leader)
        if address is None:
            self.fetcher.failed(now)
            self._wake(0)
            return
        if self._line is None:
            self._line = Line(
                self._process, address, self._replicas.config.replica_socket_timeout_ms
            )
        self._asking = True
        self._line.ask(request, lambda response: self._answered(request, response))

    def _answered(self, request: Any, response: Any) -> None:
        self._asking = False
        if response is None:
            self.fetcher.failed(self._replicas.now())
        else:
            self.fetcher.answered(request, response, self._replicas.now())
        self._ask()


class Syncing:
    def __init__(self, process: Process, replicas: Replicas, keeper: Keeper) -> None:
        self._process = process
        self._replicas = replicas
        self._keeper = keeper
        self._writing = False

    def look(self) -> None:
        """Write what is proposed; what is proposed meanwhile is written after that."""
        proposals = self._replicas.proposals
        if proposals and not self._writing:
            self._writing, self._replicas.proposals = True, []
            self._begin(proposals)

    def _begin(self, proposals: Sequence[Proposal]) -> None:
        carry_out(
            self._keeper,
            self._write(proposals),
            self._written,
            lambda: self._process.after(PAUSE, self._begin, proposals),
        )

    def _written(self, result: None) -> None:
        self._writing = False
        self.look()

    def _write(self, proposals: Sequence[Proposal]) -> Work[None]:
        answers = yield [
            Set(znodes.state_path(each.partition), _state(each), each.version) for each in proposals
        ]
        refused = [
            each
            for each, answer in zip(proposals, answers, strict=True)
            if isinstance(answer, Refused)
        ]
        gets = [Get(znodes.state_path(each.partition)) for each in refused]
        found = dict(zip(refused, (yield gets) if gets else (), strict=True))
        written = []
        for each, answer in zip(proposals, answers, strict=True):
            version = _own(each, found[each]) if each in found else answer
            if version is not None:
                written.append(each.partition)
            self._replicas.isr_answered(each, version)
        if written:
            note = znodes.encode_partitions(written)
            yield [Create(znodes.ISR_CHANGE, note, sequence=True)]


def _state(proposal: Proposal) -> bytes:
    return znodes.PartitionState(
        proposal.leader, proposal.leader_epoch, proposal.isr, proposal.controller_epoch
    ).encode()


def _own(proposal: Proposal, found: Node | None) -> int | None:
    """The version, if it was this proposal's write after all that made the node what it is."""
    if found is None or found.data != _state(proposal):
        return None
    return found.stat.version
