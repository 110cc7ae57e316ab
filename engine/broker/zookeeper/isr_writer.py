"""The leader's changes of the ISR, written to ZooKeeper.

    leader ── compare-and-set ──> /brokers/topics/T/partitions/P/state
           ── a note ──────────> /isr_change_notification ──> controller ──> every broker's metadata

The write names the version that the leader knows. If ZooKeeper refuses it, the controller has
changed the state: the leader withdraws the proposal and waits for LeaderAndIsr. After a lost
connection the request is sent again; the leader may find that its first write was done.

Another program may have written the state without a decision: the controller raises the leader
epoch with every change. If leader and epoch are the same, the proposal is written again. If the
state cannot be read, the proposal waits until the node is repaired. (In Kafka 2.8 the ISR stays
unchanged after such a write, until the next election: KAFKA-2729.)

Left out: Kafka collects notes for up to five seconds; here a note is written at once.
"""

import asyncio
import logging
from collections.abc import Sequence

from engine.errors import MetadataUnavailable
from engine.replication.partition import Proposal
from engine.replication.replica_manager import ReplicaManager
from engine.zookeeper import znodes
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.decoder import Decoder, Unreadable, decoded
from engine.zookeeper.requests import Create, Get, Refused, Set, ZnodeData

log = logging.getLogger(__name__)

REREAD_S = 1.0  # until a state that could not be read is read again
RETRY_S = 0.1  # between two attempts to write


class IsrWriter:
    def __init__(
        self, replicas: ReplicaManager, zookeeper: ZookeeperClient, decoder: Decoder
    ) -> None:
        self._replicas = replicas
        self._decoder = decoder
        self._zookeeper = zookeeper
        self._proposed = asyncio.Event()
        replicas.work_changed.append(self._proposed.set)

    async def run(self) -> None:
        """Write the proposals until the broker stops."""
        while True:
            await self._proposed.wait()
            self._proposed.clear()
            proposals, self._replicas.proposals = self._replicas.proposals, []
            while proposals:
                try:
                    await self._write(proposals)
                    break
                except MetadataUnavailable as error:
                    log.info("ISR changes are written again: %r", error)
                    await asyncio.sleep(RETRY_S)

    async def _write(self, proposals: Sequence[Proposal]) -> None:
        sets = [
            Set(znodes.state_path(each.partition), encoded(each), each.version)
            for each in proposals
        ]
        answers = await self._zookeeper.ask(sets)
        verdicts = dict(zip(proposals, answers, strict=True))
        refused = [each for each, answer in verdicts.items() if isinstance(answer, Refused)]
        gets = [Get(znodes.state_path(each.partition)) for each in refused]
        for each, found in zip(refused, await self._zookeeper.ask(gets), strict=True):
            verdicts[each] = judged(each, found)
        written = []
        for each, verdict in verdicts.items():
            if isinstance(verdict, Unreadable):
                path = znodes.state_path(each.partition)
                self._decoder.report(path, verdict.why, "the ISR of the partition does not change")
                asyncio.get_running_loop().call_later(REREAD_S, self._replicas.propose, each)
            elif isinstance(verdict, Proposal):
                self._replicas.isr_overtaken(each, verdict.version)
            else:
                written += [each.partition] if verdict is not None else []
                self._replicas.isr_answered(each, verdict)
        if written:
            note = znodes.encode_partitions(written)
            await self._zookeeper.ask([Create(znodes.ISR_CHANGE, note, sequence=True)])


def encoded(proposal: Proposal) -> bytes:
    return znodes.LeaderAndIsr(
        proposal.leader, proposal.leader_epoch, proposal.isr, proposal.controller_epoch
    ).encode()


def judged(proposal: Proposal, found: ZnodeData | None) -> int | Proposal | Unreadable | None:
    """The meaning of a refusal. The version: this proposal is written already. A proposal for a
    newer version: leader and epoch are the same. None: the controller has changed the state."""
    if found is None:
        return None
    if found.data == encoded(proposal):
        return found.stat.version
    state = decoded(znodes.LeaderAndIsr.decode, found.data)
    if isinstance(state, Unreadable):
        return state
    same = (state.leader, state.leader_epoch) == (proposal.leader, proposal.leader_epoch)
    return proposal._replace(version=found.stat.version) if same else None
