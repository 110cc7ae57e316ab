"""The states of a partition, as the controller sees it, and how a leader comes into being.

    NON_EXISTENT ──> NEW ──> ONLINE <──> OFFLINE ──> NON_EXISTENT
                     has     has a       its leader   its topic is
                     replicas leader     is gone      being deleted

    NEW to ONLINE       the first live replica leads, all live ones are in sync: that is created
    others to ONLINE    an election: read, choose, write if nobody else has written (term.py)

A leader changes its ISR while the controller elects. The version of the znode decides who was
first; the controller reads again and chooses again.

Invariant: a partition is ONLINE only after ZooKeeper has taken its leader.
Invariant: a move that the table does not have is not made, and nobody is told anything.
"""

from collections.abc import Iterable
from enum import Enum

from engine.config import TopicConfig
from engine.controller import znodes
from engine.controller.asks import Create, Get, Reason, Refused, Work
from engine.controller.context import Leadership
from engine.controller.election import NOBODY, Elected, Rule, elect
from engine.controller.term import Term
from engine.controller.znodes import PartitionState
from engine.errors import KafkaError
from engine.model import TopicPartition

UNCLEAN = "unclean.leader.election.enable"


class State(Enum):
    NON_EXISTENT = "non-existent"  # never made, or deleted
    NEW = "new"  # it has replicas, and no leader yet
    ONLINE = "online"  # somebody leads
    OFFLINE = "offline"  # it had a leader, who died, and nobody may follow


# To each state, those from which it may be reached.
BEFORE: dict[State, frozenset[State]] = {
    State.NEW: frozenset({State.NON_EXISTENT}),
    State.ONLINE: frozenset({State.NEW, State.ONLINE, State.OFFLINE}),
    State.OFFLINE: frozenset({State.NEW, State.ONLINE, State.OFFLINE}),
    State.NON_EXISTENT: frozenset({State.OFFLINE}),
}

Leaders = dict[TopicPartition, Leadership]


class Partitions:
    def __init__(self, term: Term) -> None:
        self._term = term
        self._context = term.context
        self.states: dict[TopicPartition, State] = {}

    def state(self, partition: TopicPartition) -> State:
        return self.states.get(partition, State.NON_EXISTENT)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.states.pop(partition, None)

    def mark(self, partitions: Iterable[TopicPartition], to: State) -> None:
        """To a state other than ONLINE, which takes an election."""
        self.states.update(dict.fromkeys(self._legal(partitions, to), to))

    def start(self) -> Work[None]:
        """What the states must be, from what ZooKeeper has; and leaders for those that lack one."""
        for partition in self._context.assignments:
            leader = self._context.leader(partition)
            if leader is None:
                self.states[partition] = State.NEW
            else:
                online = self._context.online(leader, partition)
                self.states[partition] = State.ONLINE if online else State.OFFLINE
        yield from self.retry()

    def retry(self, topic: str | None = None) -> Work[None]:
        """Something has changed: perhaps there is a leader now for those that have none."""
        waiting = [
            partition
            for partition, state in self.states.items()
            if state in (State.NEW, State.OFFLINE)
            and not self._context.deleted(partition)
            and topic in (None, partition.topic)
        ]
        yield from self.bring_online(waiting)

    def bring_online(
        self,
        partitions: Iterable[TopicPartition],
        rule: Rule = Rule.OFFLINE,
        *,
        unclean: bool = False,
    ) -> Work[Leaders]:
        """Returns those that were elected; the others stay as they are."""
        legal = self._legal(partitions, State.ONLINE)
        new = [each for each in legal if self.state(each) is State.NEW]
        created, known = yield from self._create(new)
        known += [each for each in legal if self.state(each) is not State.NEW]
        elected = yield from self._elect(known, rule, unclean)
        left = [each for each in known if each not in elected]
        if left and rule is Rule.OFFLINE and not unclean:
            allowed = yield from self._unclean_topics({each.topic for each in left})
            left = [each for each in left if each.topic in allowed]
            elected |= yield from self._elect(left, rule, unclean=True)
        self.states.update(dict.fromkeys([*created, *elected], State.ONLINE))
        self._term.batch.send()
        return created | elected

    def _legal(self, partitions: Iterable[TopicPartition], to: State) -> list[TopicPartition]:
        return [each for each in partitions if self.state(each) in BEFORE[to]]

    # -- the first leader ----------------------------------------------------------------

    def _create(self, new: list[TopicPartition]) -> Work[tuple[Leaders, list[TopicPartition]]]:
        """Also returns those that have a state already: an earlier try got that far."""
        states = {}
        for partition in new:
            replicas = self._context.replicas(partition)
            live = tuple(each for each in replicas if self._context.online(each, partition))
            if live:
                states[partition] = PartitionState(live[0], 0, live, self._term.epoch)
        folders = dict.fromkeys(znodes.partitions_path(each.topic) for each in states)
        yield from self._term.write([(Create(path),) for path in folders])
        created: Leaders = {}
        partly = yield from self._write_new(states, created, folder=True)
        known = yield from self._write_new(partly, created, folder=False)
        yield from self._term.read(list(known))
        self.states.update(dict.fromkeys(known, State.OFFLINE))
        return created, list(known)

    def _write_new(
        self, states: dict[TopicPartition, PartitionState], created: Leaders, *, folder: bool
    ) -> Work[dict[TopicPartition, PartitionState]]:
        """Create what is not there; returns those of which something is."""
        answers = yield from self._term.write(
            [
                (
                    *([Create(znodes.partition_path(partition))] if folder else []),
                    Create(znodes.state_path(partition), state.encode()),
                )
                for partition, state in states.items()
            ]
        )
        there = {}
        for (partition, state), answer in zip(states.items(), answers, strict=True):
            if not isinstance(answer, Refused):
                created[partition] = self._context.leadership[partition] = Leadership(state, 0)
                self._term.batch.role(state.isr, partition, new=True)
                self._tell(partition, "new", NOBODY, Elected(state.leader, state.isr), 0)
            elif answer.reason is Reason.NODE_EXISTS:
                there[partition] = state
        return there

    # -- the next leader -----------------------------------------------------------------

    def _elect(self, partitions: list[TopicPartition], rule: Rule, unclean: bool) -> Work[Leaders]:
        stopping = self._context.shutting_down
        choices: dict[TopicPartition, tuple[int, Elected]] = {}  # who led before, who will

        def choose(partition: TopicPartition, state: PartitionState) -> PartitionState | None:
            replicas = self._context.replicas(partition)
            live = [each for each in replicas if self._context.online(each, partition)]
            chosen = elect(replicas, state.isr, live, unclean=unclean, rule=rule, stopping=stopping)
            if chosen.leader == NOBODY:
                return None
            choices[partition] = state.leader, chosen
            return self._term.bump(state, leader=chosen.leader, isr=chosen.isr)

        elected = yield from self._term.rewrite(partitions, choose)
        alive = self._context.reachable if rule is Rule.SHUTDOWN else self._context.online
        for partition, known in elected.items():
            replicas = self._context.replicas(partition)
            self._term.batch.role((each for each in replicas if alive(each, partition)), partition)
            was, chosen = choices[partition]
            self._tell(partition, rule.value, was, chosen, known.state.leader_epoch)
        return elected

    def _unclean_topics(self, topics: set[str]) -> Work[set[str]]:
        """Topics that would rather lose records than wait."""
        names = sorted(topics)
        found = yield [Get(znodes.config_path("topics", name)) for name in names]
        allowed = set()
        for name, node in zip(names, found, strict=True):
            overrides = znodes.decode_config(node.data) if node else {}
            value = self._term.config.unclean_leader_election_enable
            if UNCLEAN in overrides:
                try:
                    value = TopicConfig.value(UNCLEAN, overrides[UNCLEAN])
                except KafkaError:  # written by hand, past every check: no reason to lose records
                    value = False
            if value:
                allowed.add(name)
        return allowed

    def _tell(
        self, partition: TopicPartition, reason: str, was: int, chosen: Elected, epoch: int
    ) -> None:
        self._term.emit(
            "leader.elected",
            **partition._asdict(),
            leader=chosen.leader,
            was=was,
            leader_epoch=epoch,
            isr=list(chosen.isr),
            reason=reason,
            clean=chosen.clean,
        )
