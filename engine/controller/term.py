"""One controller's term of office: its epoch, and writing to ZooKeeper in that epoch's name.

    Multi( Check(/controller_epoch, version),  Set(.../partitions/0/state, ..., version) )
           still the same controller?          still what was read?
           no: another broker is controller,   no: the leader has changed its ISR meanwhile;
           this term is over                   read again, decide again

A controller that slept through its successor's election does not know it. So no write of any
controller is a plain one: the first that comes too late is refused, and says so.

Invariant: after `/controller_epoch` has changed, nothing that this term decides is ever written.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from engine.config import BrokerConfig
from engine.controller import znodes
from engine.controller.asks import (
    Check,
    Children,
    Delete,
    Get,
    Multi,
    Node,
    Reason,
    Refused,
    Set,
    Work,
    Write,
)
from engine.controller.context import Context, Leadership
from engine.controller.requests import Batch, Request
from engine.controller.znodes import PartitionState
from engine.model import TopicPartition

T = TypeVar("T")
Decide = Callable[[TopicPartition, PartitionState], PartitionState | None]


class Superseded(Exception):
    """There is a newer controller: whatever this one was about to do, it must not."""


class Term:
    def __init__(
        self,
        broker_id: int,
        epoch: int,
        epoch_version: int,
        config: BrokerConfig,
        outbox: list[Request],
        emit: Callable[..., None],
    ) -> None:
        self.epoch = epoch
        self.config = config
        self.context = Context()
        self.batch = Batch(self.context, broker_id, epoch, outbox)
        self.emit = emit  # kind, then the facts by name
        self._check = Check(znodes.CONTROLLER_EPOCH, epoch_version)

    def write(self, groups: Iterable[tuple[Write, ...]]) -> Work[list[Any]]:
        """Each group all or nothing: the answers of its writes, or what was refused."""
        asks = [Multi((self._check, *group)) for group in groups]
        answers = yield from _ask(asks)
        for answer in answers:
            if isinstance(answer, Refused) and answer.path == znodes.CONTROLLER_EPOCH:
                raise Superseded
        return [answer if isinstance(answer, Refused) else answer[1:] for answer in answers]

    def delete(self, paths: Iterable[str]) -> Work[None]:
        """In this order; what is gone already is fine."""
        yield from self.write([(Delete(path),) for path in paths])

    def delete_tree(self, path: str) -> Work[None]:
        paths, below = [path], [path]
        while below:
            names = yield from _ask([Children(each) for each in below])
            below = [
                f"{each}/{name}"
                for each, listed in zip(below, names, strict=True)
                for name in listed or ()
            ]
            paths += below
        yield from self.delete(reversed(paths))

    # -- the states of partitions --------------------------------------------------------

    def read(
        self, partitions: Sequence[TopicPartition], *, watch: bool = False
    ) -> Work[list[Leadership | None]]:
        """Each partition's leadership as ZooKeeper has it now."""
        answers = yield from _ask([Get(znodes.state_path(each), watch) for each in partitions])
        return [
            None if answer is None else self._learn(partition, answer)
            for partition, answer in zip(partitions, answers, strict=True)
        ]

    def _learn(self, partition: TopicPartition, node: Node) -> Leadership:
        state = PartitionState.decode(node.data)
        if state.controller_epoch > self.epoch:
            raise Superseded
        known = self.context.leadership[partition] = Leadership(state, node.stat.version)
        return known

    def rewrite(
        self, partitions: Iterable[TopicPartition], decide: Decide
    ) -> Work[dict[TopicPartition, Leadership]]:
        """Read, decide, write what was decided (None: leave it). Returns what was written.

        What we were about to write may stand there already: it was only the answer that was lost.
        """
        remaining, written = list(partitions), dict[TopicPartition, Leadership]()
        wanted: dict[TopicPartition, PartitionState] = {}
        while remaining:
            found = yield from self.read(remaining)
            known = {each: it for each, it in zip(remaining, found, strict=True) if it}
            written |= {each: it for each, it in known.items() if it.state == wanted.get(each)}
            wanted = {
                each: state
                for each, it in known.items()
                if each not in written and (state := decide(each, it.state))
            }
            answers = yield from self.write(
                [
                    (Set(znodes.state_path(each), state.encode(), known[each].version),)
                    for each, state in wanted.items()
                ]
            )
            remaining = []
            for (partition, state), answer in zip(wanted.items(), answers, strict=True):
                if not isinstance(answer, Refused):
                    written[partition] = Leadership(state, answer[0])
                elif answer.reason is Reason.BAD_VERSION:
                    remaining.append(partition)
        self.context.leadership |= written
        return written

    def bump(self, state: PartitionState, **changes: Any) -> PartitionState:
        """What follows from a state: every change of this controller's has an epoch of its own."""
        return state._replace(
            leader_epoch=state.leader_epoch + 1, controller_epoch=self.epoch, **changes
        )


def _ask(asks: Sequence[Any]) -> Work[Sequence[Any]]:
    """Nothing to ask is no question."""
    return (yield asks) if asks else ()


def readable(decode: Callable[[bytes], T], node: Node | None) -> T | None:
    """What anybody may have written by hand; what makes no sense counts as nothing."""
    try:
        return decode(node.data) if node else None
    except (ValueError, KeyError, TypeError):
        return None
