"""Deleting topics: the logs on every broker first, then the znodes, the request last.

    /admin/delete_topics/T
      1  UpdateMetadata, leader -2        clients are told that there is no such topic
      2  StopReplica, keep the log        followers stop to fetch, the leader stops to lead
      3  StopReplica, delete the log      each broker answers for each replica
      4  all have: /brokers/topics/T, /config/topics/T, /admin/delete_topics/T go, in this order

A topic waits while one of its partitions moves, or one of its replicas could not be deleted, as
its broker is down. When that broker is back the deletion is taken up again. Whoever becomes
controller in the middle finds the request still there and starts over: to delete twice is fine.

With `delete.topic.enable=false` only the request is removed.

Invariant: no new topic of the same name before every replica of the old one has confirmed.
"""

from collections.abc import Iterable

from engine.controller import znodes
from engine.controller.asks import Children, Work
from engine.controller.context import Replica
from engine.controller.partitions import Partitions
from engine.controller.partitions import State as PartitionState
from engine.controller.replicas import Replicas, State
from engine.controller.term import Term


class Deletion:
    def __init__(self, term: Term, partitions: Partitions, replicas: Replicas) -> None:
        self._term = term
        self._context = term.context
        self._partitions = partitions
        self._replicas = replicas
        self._halted: set[str] = set()  # until a broker returns

    # -- what happens --------------------------------------------------------------------

    def look(self) -> Work[None]:
        """Which topics are to go; what is not there to be deleted is cleared away at once."""
        asked = set((yield [Children(znodes.DELETE_TOPICS, watch=True)])[0] or ())
        known = asked & self._context.topics.keys()
        if not self._term.config.delete_topic_enable:
            yield from self._term.delete(map(znodes.deleted_topic_path, sorted(asked)))
            return
        for name in sorted(asked - known):
            yield from self._term.delete(_what_is_left(name))
        self._context.deleting |= known
        self._context.doomed |= known - self._context.moving_topics

    def resume(self, topics: Iterable[str]) -> Work[None]:
        """A broker is back, or a move has ended: try again."""
        again = self._context.deleting & set(topics)
        self._halted -= again
        self._context.doomed |= again - self._context.moving_topics
        if again:
            yield from self.proceed()

    def fail(self, replicas: Iterable[Replica]) -> Work[None]:
        """Their brokers are gone, or could not delete them."""
        failed = [each for each in replicas if self._context.deleted(each.partition)]
        if failed:
            yield from self._replicas.move(failed, State.INELIGIBLE)
            self._halted.update(each.partition.topic for each in failed)
            yield from self.proceed()

    def succeed(self, replicas: Iterable[Replica]) -> Work[None]:
        done = [each for each in replicas if self._context.deleted(each.partition)]
        yield from self._replicas.move(done, State.SUCCESSFUL)
        yield from self.proceed()

    def is_under_way(self, topic: str) -> bool:
        return topic in self._context.doomed and topic not in self._halted

    # -- what follows --------------------------------------------------------------------

    def proceed(self) -> Work[None]:
        """Take every topic as far as it can go now."""
        retry: list[Replica] = []
        begin: list[str] = []
        for topic in sorted(self._context.doomed):
            states = {each: self._replicas.state(each) for each in self._replicas_of(topic)}
            found = set(states.values())
            if found <= {State.SUCCESSFUL}:
                yield from self._complete(topic)
            elif State.STARTED not in found:  # no answer is to be waited for
                retry += [each for each, state in states.items() if state is State.INELIGIBLE]
                if topic not in self._halted:
                    begin.append(topic)
        if retry:
            yield from self._replicas.move(retry, State.OFFLINE)
        if begin:
            yield from self._begin(begin)

    def _begin(self, topics: list[str]) -> Work[None]:
        partitions = [each for topic in topics for each in self._context.topics[topic].values()]
        self._partitions.mark(partitions, PartitionState.OFFLINE)
        self._partitions.mark(partitions, PartitionState.NON_EXISTENT)
        self._term.batch.metadata(self._context.brokers, partitions)
        self._term.batch.send()
        alive: list[Replica] = []
        dead: list[Replica] = []
        for replica in self._context.replicas_of(partitions):
            online = self._context.online(replica.broker, replica.partition)
            (alive if online else dead).append(replica)
        yield from self._replicas.move(dead, State.INELIGIBLE)
        self._halted.update(each.partition.topic for each in dead)
        rest = [each for each in alive if self._replicas.state(each) is not State.SUCCESSFUL]
        yield from self._replicas.move(rest, State.OFFLINE)
        yield from self._replicas.move(rest, State.STARTED)

    def _complete(self, topic: str) -> Work[None]:
        yield from self._term.delete_tree(znodes.topic_path(topic))
        yield from self._term.delete(_what_is_left(topic))
        self._replicas.forget(self._replicas_of(topic))
        self._partitions.forget(self._context.topics[topic].values())
        self._context.remove_topic(topic)
        self._halted.discard(topic)
        self._term.emit("topic.deleted", topic=topic)

    def _replicas_of(self, topic: str) -> list[Replica]:
        return self._context.replicas_of(self._context.topics[topic].values())


def _what_is_left(topic: str) -> tuple[str, str]:
    return znodes.config_path("topics", topic), znodes.deleted_topic_path(topic)
