"""One run of a quorum: nodes, an application, a storm and the invariants, all from one seed.

    QuorumRun(seed=7).go()        raises Violation if an invariant does not hold

    |-- 1 s --|--------- seconds ---------|-- until AT_REST holds --|
                turns: records, storm       the faults are mended

Two seeds of three have three voters, the third has five; one of four has pre-vote.
"""

from random import Random

from engine.raft.messages import FetchSnapshotRequest, RaftFetchRequest, RaftMessage
from engine.raft.model import TruncatedBelowHighWatermark
from proof.quorum.defects import SOUND_QUORUM, QuorumDefect
from proof.quorum.invariants import check_disk, check_rest, check_step
from proof.quorum.node import QuorumNode
from proof.quorum.observed_quorum import ObservedQuorum, PendingRecord
from proof.quorum.storm import QuorumStorm
from proof.quorum.world import QUICK, QuorumWorld
from proof.storms.invariants import Violation

BEGIN_MS = 1000
SECONDS_OF_STORM = 5.0
CALM_MS = 20_000  # after the storm, within which AT_REST must hold
CALM_TURN_MS = 200
TURNS_MS = (5, 20, 50, 150, 400)
VOTERS = (3, 3, 5)  # by seed
PRE_VOTE = 4, 3  # one seed of four has it: 3, 7, 11 ...
MOST_RECORDS = 3  # in a turn


class QuorumRun:
    def __init__(
        self, seed: int, seconds: float = SECONDS_OF_STORM, *, defect: QuorumDefect = SOUND_QUORUM
    ) -> None:
        self.seed = seed
        self._chance = Random(seed)
        every, first = PRE_VOTE
        self.world = QuorumWorld(
            seed,
            VOTERS[seed % len(VOTERS)],
            defect=defect,
            config=QUICK._replace(pre_vote=seed % every == first),
        )
        self.observed = ObservedQuorum(self.world)
        self.storm = QuorumStorm(self.world, self._chance)
        self.end_ms = BEGIN_MS + round(seconds * 1000)
        for node in self.world.nodes.values():
            node.heard.append(self._heard)
            node.written.append(self._written)
            node.stepped.append(self._stepped)

    def go(self) -> None:
        clock = self.world.clock
        try:
            clock.run_until(BEGIN_MS)
            while clock.now < self.end_ms:
                self._append()
                self.storm.turn()
                clock.run_until(clock.now + self._chance.choice(TURNS_MS))
            self._rest()
        except TruncatedBelowHighWatermark as error:
            name = "no_committed_record_is_truncated"
            raise Violation(name, clock.now, str(error)) from error

    def _rest(self) -> None:
        """Mend everything, and wait until all is well, with one record more."""
        clock = self.world.clock
        self.storm.mend(1)
        end, is_last = clock.now + CALM_MS, False
        while clock.now < end:
            clock.run_until(clock.now + CALM_TURN_MS)
            self.storm.mend(1)
            try:
                check_rest(self.observed)
            except Violation:
                continue
            if is_last:
                return
            self._append()
            is_last = True
        check_rest(self.observed)

    def _append(self) -> None:
        """To every node that takes itself for the leader."""
        for node in self.world.voters:
            for _ in range(self._chance.randint(0, MOST_RECORDS)):
                if node.is_up and node.client is not None and node.client.is_leader:
                    life, epoch = node.lives, node.client.epoch
                    if (appended := self.world.append(node)) is not None:
                        record = PendingRecord(node.id, life, epoch, *appended)
                        self.observed.pending.append(record)

    def _heard(self, node: QuorumNode, message: RaftMessage) -> None:
        if isinstance(message.body, RaftFetchRequest | FetchSnapshotRequest):
            self.observed.heard[node.id, message.peer] = node.now

    def _written(self, node: QuorumNode) -> None:
        check_disk(self.observed, node)

    def _stepped(self, node: QuorumNode) -> None:
        check_step(self.observed, node)
