"""The states of a partition in the controller, and the creation and election of leaders.

    NON_EXISTENT ──> NEW ──> ONLINE <──> OFFLINE ──> NON_EXISTENT
                     has     has a       its leader   its topic is
                     replicas leader     is gone      being deleted

    NEW to ONLINE       create the znode: the first live replica leads, all live ones are in sync
    others to ONLINE    an election: read, choose, write if the znode is unchanged. A partition that
                        is ONLINE may have one, too: back to the preferred leader, for instance
    NEW to OFFLINE      its topic is deleted before it had a leader, or its znode exists already

A leader may change its ISR during an election. Then the version of the znode has changed: the
controller reads again and chooses again.

Invariant: a partition is ONLINE only after ZooKeeper has accepted its leader.
Invariant: a change that is not in the table is not made, and no request is sent for it.
"""

from collections.abc import Callable, Iterable
from enum import Enum

from engine.config import BrokerConfig, TopicConfig
from engine.controller.context import Context, Leadership
from engine.controller.election import Elect, Elected, Rule, elect
from engine.controller.metadata_store import MetadataStore
from engine.controller.requests import ControllerRequestBatch
from engine.errors import ApiException
from engine.model import NO_BROKER, TopicPartition
from engine.zookeeper import znodes
from engine.zookeeper.requests import Create, Get, Reason, Refused, Work
from engine.zookeeper.znodes import LeaderAndIsr

UNCLEAN = "unclean.leader.election.enable"


class ControllerPartitionState(Enum):
    NON_EXISTENT = "non-existent"  # never created, or deleted
    NEW = "new"  # it has replicas, but no leader yet
    ONLINE = "online"  # it has a leader
    OFFLINE = "offline"  # its leader is gone


NON_EXISTENT, NEW, ONLINE, OFFLINE = ControllerPartitionState
_EXISTING = frozenset({NEW, ONLINE, OFFLINE})

# For each state, the states before it.
BEFORE: dict[ControllerPartitionState, frozenset[ControllerPartitionState]] = {
    NEW: frozenset({NON_EXISTENT}),
    ONLINE: _EXISTING,
    OFFLINE: _EXISTING,
    NON_EXISTENT: frozenset({OFFLINE}),
}

Leaders = dict[TopicPartition, Leadership]


class PartitionStateMachine:
    def __init__(
        self,
        context: Context,
        store: MetadataStore,
        batch: ControllerRequestBatch,
        config: Callable[[], BrokerConfig],
        emit: Callable[..., None],  # an event: its kind, then the facts by name
        elect: Elect = elect,
    ) -> None:
        self._context, self._store, self._batch = context, store, batch
        self._config, self._emit, self._choose = config, emit, elect
        self.states: dict[TopicPartition, ControllerPartitionState] = {}

    def state(self, partition: TopicPartition) -> ControllerPartitionState:
        return self.states.get(partition, NON_EXISTENT)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.states.pop(partition, None)

    def mark(self, partitions: Iterable[TopicPartition], to: ControllerPartitionState) -> None:
        """Set the state of partitions. It is not ONLINE, which takes an election."""
        self.states.update(dict.fromkeys(self._legal(partitions, to), to))

    def start(self) -> Work[None]:
        """Set the states from the context, and elect leaders where there is none."""
        for partition in self._context.assignments:
            leader = self._context.leader(partition)
            if leader is None:
                self.states[partition] = NEW
            else:
                online = self._context.online(leader, partition)
                self.states[partition] = ONLINE if online else OFFLINE
        yield from self.retry()

    def retry(self, topic: str | None = None) -> Work[None]:
        """After a change: try to elect leaders for the partitions without one."""
        waiting = [
            partition
            for partition, state in self.states.items()
            if state in (NEW, OFFLINE)
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
        """Elect leaders. Returns the partitions that got one; the others stay as they are."""
        legal = self._legal(partitions, ONLINE)
        new = [each for each in legal if self.state(each) is NEW]
        created, known = yield from self._create(new)
        known += [each for each in legal if self.state(each) is not NEW]
        elected = yield from self._elect(known, rule, unclean)
        left = [each for each in known if each not in elected]
        if left and rule is Rule.OFFLINE and not unclean:
            allowed = yield from self._unclean_topics({each.topic for each in left})
            left = [each for each in left if each.topic in allowed]
            elected |= yield from self._elect(left, rule, unclean=True)
        self.states.update(dict.fromkeys([*created, *elected], ONLINE))
        self._batch.send()
        return created | elected

    def _legal(
        self, partitions: Iterable[TopicPartition], to: ControllerPartitionState
    ) -> list[TopicPartition]:
        return [each for each in partitions if self.state(each) in BEFORE[to]]

    # -- the first leader ----------------------------------------------------------------

    def _create(self, new: list[TopicPartition]) -> Work[tuple[Leaders, list[TopicPartition]]]:
        """Create the znodes of new partitions: the first live replica leads.

        Also returns the partitions whose znode exists already, from an earlier attempt.
        """
        states = {}
        for partition in new:
            replicas = self._context.replicas(partition)
            live = tuple(each for each in replicas if self._context.online(each, partition))
            if live:
                states[partition] = LeaderAndIsr(live[0], 0, live, self._store.epoch)
        folders = dict.fromkeys(znodes.partitions_path(each.topic) for each in states)
        yield from self._store.write([(Create(path),) for path in folders])
        created: Leaders = {}
        partly = yield from self._write_new(states, created, folder=True)
        known = yield from self._write_new(partly, created, folder=False)
        yield from self._store.read_states(list(known))
        self.states.update(dict.fromkeys(known, OFFLINE))
        return created, list(known)

    def _write_new(
        self, states: dict[TopicPartition, LeaderAndIsr], created: Leaders, *, folder: bool
    ) -> Work[dict[TopicPartition, LeaderAndIsr]]:
        """Create the znodes. Returns the partitions for which a node existed."""
        answers = yield from self._store.write(
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
                self._batch.leader_and_isr(state.isr, partition, new=True)
                self._report(partition, "new", NO_BROKER, Elected(state.leader, state.isr), 0)
            elif answer.reason is Reason.NODE_EXISTS:
                there[partition] = state
        return there

    # -- the next leader -----------------------------------------------------------------

    def _elect(self, partitions: list[TopicPartition], rule: Rule, unclean: bool) -> Work[Leaders]:
        stopping = self._context.shutting_down
        choices: dict[TopicPartition, tuple[int, Elected]] = {}  # who led before, who will

        def choose(partition: TopicPartition, state: LeaderAndIsr) -> LeaderAndIsr | None:
            replicas = self._context.replicas(partition)
            live = [each for each in replicas if self._context.online(each, partition)]
            chosen = self._choose(
                *(replicas, state.isr, live), unclean=unclean, rule=rule, stopping=stopping
            )
            if chosen.leader == NO_BROKER:
                return None
            choices[partition] = state.leader, chosen
            return self._store.bump(state, leader=chosen.leader, isr=chosen.isr)

        elected = yield from self._store.rewrite(partitions, choose)
        alive = self._context.reachable if rule is Rule.SHUTDOWN else self._context.online
        for partition, known in elected.items():
            replicas = self._context.replicas(partition)
            self._batch.leader_and_isr(
                (each for each in replicas if alive(each, partition)), partition
            )
            was, chosen = choices[partition]
            self._report(partition, rule.value, was, chosen, known.state.leader_epoch)
        return elected

    def _unclean_topics(self, topics: set[str]) -> Work[set[str]]:
        """The topics that allow unclean elections."""
        names = sorted(topics)
        found = yield [Get(znodes.config_path("topics", name)) for name in names]
        allowed = set()
        for name, node in zip(names, found, strict=True):
            path, harm = znodes.config_path("topics", name), "no replica out of sync is elected"
            read = self._store.decoder.read
            overrides = read(znodes.decode_config, path, node and node.data, harm) or {}
            value = self._config().unclean_leader_election_enable and (
                path not in self._store.decoder.faults
            )
            if UNCLEAN in overrides:
                try:
                    value = TopicConfig.value(UNCLEAN, overrides[UNCLEAN])
                except ApiException:  # not validated: records must not be lost by mistake
                    value = False
            if value:
                allowed.add(name)
        return allowed

    def _report(
        self, partition: TopicPartition, reason: str, was: int, chosen: Elected, epoch: int
    ) -> None:
        self._emit(
            "leader.elected",
            **partition._asdict(),
            leader=chosen.leader,
            was=was,
            leader_epoch=epoch,
            isr=list(chosen.isr),
            reason=reason,
            clean=chosen.clean,
        )
