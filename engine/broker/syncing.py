"""Changes of the in-sync replicas, written to ZooKeeper by the leader that found them out.

    leader ── compare-and-set ──> /brokers/topics/T/partitions/P/state
           ── a note ──────────> /isr_change_notification ──> controller ──> every broker's metadata

The write names the version that the leader knows. Refused means that the controller has decided
something meanwhile: the leader gives up, and waits to be told what. Lost answers are asked for
again; then the leader may find that its own write was done the first time.

Left out: Kafka gathers notes for up to five seconds; here a note is written at once.
"""

import asyncio
import logging
from collections.abc import Sequence

from kazoo.exceptions import ConnectionLoss, SessionExpiredError

from engine.controller import znodes
from engine.controller.asks import Create, Get, Node, Refused, Set
from engine.replication.partition import Proposal
from engine.replication.replicas import Replicas
from engine.zookeeper.client import ZookeeperClient

log = logging.getLogger(__name__)

PAUSE = 0.1  # seconds between two attempts to reach ZooKeeper


class Syncing:
    def __init__(self, replicas: Replicas, zookeeper: ZookeeperClient) -> None:
        self._replicas = replicas
        self._zookeeper = zookeeper
        self._stirred = asyncio.Event()
        replicas.stirred.append(self._stirred.set)

    async def run(self) -> None:
        """Write what is proposed, for as long as the broker lives."""
        while True:
            await self._stirred.wait()
            self._stirred.clear()
            proposals, self._replicas.proposals = self._replicas.proposals, []
            while proposals:
                try:
                    await self._write(proposals)
                    break
                except (ConnectionLoss, SessionExpiredError) as error:
                    log.info("ISR changes are not written yet: %r", error)
                    await asyncio.sleep(PAUSE)

    async def _write(self, proposals: Sequence[Proposal]) -> None:
        sets = [
            Set(znodes.state_path(each.partition), _state(each), each.version) for each in proposals
        ]
        answers = await self._zookeeper.answer(sets)
        doubtful = [
            each
            for each, answer in zip(proposals, answers, strict=True)
            if isinstance(answer, Refused)
        ]
        gets = [Get(znodes.state_path(each.partition)) for each in doubtful]
        found = dict(zip(doubtful, await self._zookeeper.answer(gets), strict=True))
        written = []
        for each, answer in zip(proposals, answers, strict=True):
            version = answer if each not in found else _own(each, found[each])
            if version is not None:
                written.append(each.partition)
            self._replicas.isr_answered(each, version)
        if written:
            note = znodes.encode_partitions(written)
            await self._zookeeper.answer([Create(znodes.ISR_CHANGE, note, sequence=True)])


def _state(proposal: Proposal) -> bytes:
    return znodes.PartitionState(
        proposal.leader, proposal.leader_epoch, proposal.isr, proposal.controller_epoch
    ).encode()


def _own(proposal: Proposal, found: Node | None) -> int | None:
    """The version, if it was this proposal's write after all that made the node what it is."""
    if found is None or found.data != _state(proposal):
        return None
    return found.stat.version
