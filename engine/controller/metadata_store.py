"""The metadata in ZooKeeper, as one controller reads and writes it: every write checks its epoch.

    Multi( Check(/controller_epoch, version),  Set(.../partitions/0/state, ..., version) )
           still the same controller?          still what was read?
           no: another broker is controller,   no: the leader has changed its ISR meanwhile;
           this epoch is over                  read again, decide again

A controller that was paused does not know that another one was elected. So each write checks the
epoch: the first one after the election is refused.

Invariant: after `/controller_epoch` has changed, no write of this controller is done.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from engine.controller.context import Context, Leadership
from engine.model import TopicPartition
from engine.zookeeper import znodes
from engine.zookeeper.decoder import Decoder, Unreadable, decoded
from engine.zookeeper.requests import (
    CheckVersion,
    Children,
    Delete,
    Get,
    Multi,
    Reason,
    Refused,
    Set,
    Work,
    Write,
)
from engine.zookeeper.znodes import LeaderAndIsr

T = TypeVar("T")
Decide = Callable[[TopicPartition, LeaderAndIsr], LeaderAndIsr | None]


class ControllerMoved(Exception):
    """There is a newer controller: this one must stop."""


class MetadataStore:
    def __init__(
        self,
        context: Context,
        decoder: Decoder,
        epoch: int,
        epoch_version: int,  # of the node /controller_epoch
    ) -> None:
        self.epoch = epoch
        self.decoder = decoder
        self._context = context
        self._check = CheckVersion(znodes.CONTROLLER_EPOCH, epoch_version)

    def write(self, groups: Iterable[tuple[Write, ...]]) -> Work[list[Any]]:
        """Each group is done whole or not at all. Returns for each its answers, or `Refused`."""
        asks = [Multi((self._check, *group)) for group in groups]
        answers = yield from ask(asks)
        for answer in answers:
            if isinstance(answer, Refused) and answer.path == znodes.CONTROLLER_EPOCH:
                raise ControllerMoved
        return [answer if isinstance(answer, Refused) else answer[1:] for answer in answers]

    def read_notes(
        self, folder: str, decode: Callable[[bytes], T], harm: str
    ) -> Work[dict[str, T | None]]:
        """Watch a folder, and read the notes in it: by path, None for one that cannot be read."""
        names = (yield [Children(folder, watch=True)])[0] or ()
        paths = [f"{folder}/{name}" for name in sorted(names)]
        nodes = yield from ask([Get(path) for path in paths])
        return {
            path: self.decoder.read(decode, path, node and node.data, harm)
            for path, node in zip(paths, nodes, strict=True)
        }

    def delete(self, paths: Iterable[str]) -> Work[None]:
        """Delete nodes in this order; missing ones are ignored."""
        gone = list(paths)
        yield from self.write([(Delete(path),) for path in gone])
        for path in gone:
            self.decoder.faults.pop(path, None)

    def delete_tree(self, path: str) -> Work[None]:
        paths, below = [path], [path]
        while below:
            names = yield from ask([Children(each) for each in below])
            below = [
                f"{each}/{name}"
                for each, listed in zip(below, names, strict=True)
                for name in listed or ()
            ]
            paths += below
        yield from self.delete(reversed(paths))

    # -- the states of partitions --------------------------------------------------------

    def read_states(
        self, partitions: Sequence[TopicPartition], *, watch: bool = False
    ) -> Work[list[Leadership | None]]:
        """Each partition's leadership in ZooKeeper.

        None without a node, and for a node that cannot be read: it is not written, and watched
        until it is repaired.
        """
        paths = [znodes.state_path(each) for each in partitions]
        nodes = yield from ask([Get(path, watch) for path in paths])
        states = [node and decoded(LeaderAndIsr.decode, node.data) for node in nodes]
        if any(isinstance(it, LeaderAndIsr) and it.controller_epoch > self.epoch for it in states):
            yield from self.write([()])  # refused, if there is a newer controller
        found = []
        for partition, path, node, state in zip(partitions, paths, nodes, states, strict=True):
            if isinstance(state, LeaderAndIsr) and state.controller_epoch > self.epoch:
                state = Unreadable(f"controller epoch {state.controller_epoch} is in the future")
            if isinstance(state, Unreadable) and not watch:
                found += yield from self.read_states([partition], watch=True)
                continue
            if isinstance(state, Unreadable):
                self.decoder.report(path, state.why, "no other leader is elected for the partition")
            elif state is not None:
                self.decoder.faults.pop(path, None)
                self._context.leadership[partition] = Leadership(state, node.stat.version)
            known = isinstance(state, LeaderAndIsr)
            found.append(self._context.leadership[partition] if known else None)
        return found

    def rewrite(
        self, partitions: Iterable[TopicPartition], decide: Decide
    ) -> Work[dict[TopicPartition, Leadership]]:
        """Read, decide, write the decision (None: no change). Returns what was written.

        The decision may be in the node already, if only the answer of the write was lost.
        """
        remaining, written = list(partitions), dict[TopicPartition, Leadership]()
        wanted: dict[TopicPartition, LeaderAndIsr] = {}
        while remaining:
            found = yield from self.read_states(remaining)
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
        self._context.leadership |= written
        return written

    def bump(self, state: LeaderAndIsr, **changes: Any) -> LeaderAndIsr:
        """The changed state. Every change by the controller increments the leader epoch."""
        return state._replace(
            leader_epoch=state.leader_epoch + 1, controller_epoch=self.epoch, **changes
        )


def ask(asks: Sequence[Any]) -> Work[Sequence[Any]]:
    """Send requests to ZooKeeper, and return their results. Without requests nothing is sent."""
    return (yield asks) if asks else ()
