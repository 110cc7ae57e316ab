"""The states of a replica, as the controller sees it, and what a broker is told on the way.

    NON_EXISTENT ──> NEW ──> ONLINE <──> OFFLINE ──> STARTED ──> SUCCESSFUL ──> NON_EXISTENT
                                            ^           │
                                            └─ INELIGIBLE <┘   its broker is gone, or could not

    to NEW, ONLINE       LeaderAndIsr: lead or follow
    to OFFLINE           StopReplica, keep the log; out of the ISR, which the others are told
    to STARTED           StopReplica, delete the log
    the rest             nothing: it is only remembered how far a deletion has come

Invariant: an ISR is never empty. Whoever is its last member stays in it, dead or alive: only there
is every committed record.
Invariant: a move that the table does not have is not made, and nobody is told anything.
"""

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum

from engine.controller.asks import Work
from engine.controller.context import Replica
from engine.controller.election import NOBODY
from engine.controller.term import Term
from engine.controller.znodes import PartitionState
from engine.model import TopicPartition


class State(Enum):
    NON_EXISTENT = "non-existent"
    NEW = "new"
    ONLINE = "online"
    OFFLINE = "offline"
    STARTED = "deletion started"
    SUCCESSFUL = "deletion successful"
    INELIGIBLE = "deletion ineligible"


_LIVING = frozenset({State.NEW, State.ONLINE, State.OFFLINE, State.INELIGIBLE})

# To each state, those from which it may be reached.
BEFORE: dict[State, frozenset[State]] = {
    State.NEW: frozenset({State.NON_EXISTENT}),
    State.ONLINE: _LIVING,
    State.OFFLINE: _LIVING,
    State.STARTED: frozenset({State.OFFLINE}),
    State.SUCCESSFUL: frozenset({State.STARTED}),
    State.INELIGIBLE: frozenset({State.OFFLINE, State.STARTED}),
    State.NON_EXISTENT: frozenset({State.SUCCESSFUL}),
}


class Replicas:
    def __init__(self, term: Term) -> None:
        self._term = term
        self._context = term.context
        self.states: dict[Replica, State] = {}

    def state(self, replica: Replica) -> State:
        return self.states.get(replica, State.NON_EXISTENT)

    def forget(self, replicas: Iterable[Replica]) -> None:
        for replica in replicas:
            self.states.pop(replica, None)

    def start(self) -> Work[None]:
        """The living get their roles, whatever an earlier controller told them."""
        replicas = self._context.replicas_of(self._context.assignments)
        online = [each for each in replicas if self._context.online(each.broker, each.partition)]
        self.states = dict.fromkeys(replicas, State.INELIGIBLE)
        self.states.update(dict.fromkeys(online, State.ONLINE))
        yield from self.move(online, State.ONLINE)
        gone = [each for each in replicas if self.states[each] is State.INELIGIBLE]
        yield from self.move(gone, State.OFFLINE)

    def move(self, replicas: Iterable[Replica], to: State) -> Work[None]:
        legal = [each for each in replicas if self.state(each) in BEFORE[to]]
        match to:
            case State.NEW | State.ONLINE:
                self._give_roles(legal, to)
            case State.OFFLINE:
                yield from self._take_offline(legal)
            case State.STARTED:
                for partition, broker in legal:
                    self._term.batch.stop(broker, partition, delete=True)
        if to is State.NON_EXISTENT:
            self.forget(legal)
        elif to is not State.OFFLINE:
            self.states.update(dict.fromkeys(legal, to))
        self._term.batch.send()

    def _give_roles(self, replicas: list[Replica], to: State) -> None:
        for replica in replicas:
            told = self.state(replica) is State.NEW  # it had its role as it came into being
            if not told and replica.partition in self._context.leadership:
                self._term.batch.role([replica.broker], replica.partition, new=to is State.NEW)

    # -- out of the ISR ------------------------------------------------------------------

    def _take_offline(self, replicas: list[Replica]) -> Work[None]:
        leaving: dict[TopicPartition, set[int]] = defaultdict(set)
        for partition, broker in replicas:
            self._term.batch.stop(broker, partition, delete=False)
            leaving[partition].add(broker)

        def leave(partition: TopicPartition, state: PartitionState) -> PartitionState | None:
            gone = leaving[partition]
            isr = tuple(each for each in state.isr if each not in gone) or state.isr[-1:]
            leader = NOBODY if state.leader in gone else state.leader
            if (leader, isr) == (state.leader, state.isr):
                return None
            return self._term.bump(state, leader=leader, isr=isr)

        left = yield from self._term.rewrite(leaving, leave)
        kept = [each for each in leaving if not self._context.deleted(each)]
        for partition in (each for each in kept if each in left):
            stay = set(self._context.replicas(partition)) - leaving[partition]
            self._term.batch.role(sorted(stay), partition)
        self._term.batch.metadata(self._context.brokers if kept else (), kept)
        self.states.update(dict.fromkeys(replicas, State.OFFLINE))
