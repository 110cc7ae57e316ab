"""How far the application is, and when its group gets to know.

    handed out ---- position ----+-- enable.auto.offset.store --> what a commit commits
    store_offsets() -------------+

    commit()                 now                            } Committing, which retries, and
    enable.auto.commit       every auto.commit.interval.ms  } on_commit, in the next poll
    before a partition goes  if auto commit is on

What counts as consumed is what was handed out, so a record is committed before the application is
done with it only if the commit falls between the two: with auto commit that is within `poll`, when
the record before has been dealt with. At least once, then, as long as records are dealt with in
the thread that polls.

What the group knows already is not committed once more.

Invariant: a commit by itself never goes back: it commits the position as it is then.
"""

from collections import deque
from collections.abc import Iterable, Mapping

from engine.client.consuming.committing import Codes, Committed, Committing
from engine.client.consuming.place import Place, Position
from engine.client.consuming.positions import Positions
from engine.client.values import KafkaError, TopicPartition, error_of
from engine.config.consumer import ConsumerConfig
from engine.errors import ErrorCode
from engine.errors import KafkaError as Failure
from engine.model import TopicPartition as Partition


class Outcome:
    """What becomes of a commit."""

    def __init__(self, offsets: Mapping[Partition, Committed]) -> None:
        self.offsets = offsets
        self.done = False
        self.error: Failure | None = None  # of all of it
        self.codes: Codes = {}

    def partitions(self) -> list[TopicPartition]:
        """As the application is told."""
        found = []
        for (topic, number), (offset, epoch, metadata) in self.offsets.items():
            code = self.codes.get(Partition(topic, number), ErrorCode.none)
            told = TopicPartition(topic, number, offset, metadata, epoch if epoch >= 0 else None)
            told.error = KafkaError(code) if code != ErrorCode.none else None
            found.append(told)
        return found

    def failure(self) -> KafkaError | None:
        """Of all of it, or of the first partition that failed."""
        if self.error is not None:
            return error_of(self.error)
        return next((each.error for each in self.partitions() if each.error), None)


class Progress:
    def __init__(
        self, config: ConsumerConfig, positions: Positions, committing: Committing | None
    ) -> None:
        self.to_tell: deque[Outcome] = deque()  # asynchronous commits that are done
        self._positions = positions
        self._committing = committing
        self._by_itself = config.enable_auto_offset_store
        self._auto = config.enable_auto_commit and committing is not None
        self._interval = config.auto_commit_interval_ms / 1000
        self._due: float | None = None  # the next commit by itself

    def consumed(self, partitions: Iterable[Partition] | None = None) -> dict[Partition, Committed]:
        """What there is to commit, of all partitions or of some."""
        places = self._positions.places
        wanted = places if partitions is None else [each for each in partitions if each in places]
        found = {each: self._reached(places[each]) for each in wanted}
        return {each: Committed(*at) for each, at in found.items() if at is not None}

    def _reached(self, place: Place) -> Position | None:
        """If that is news to the group."""
        reached = place.stored
        if self._by_itself:
            reached = place.position if place.offset >= 0 else None
        return None if reached == place.committed else reached

    def commit(
        self, offsets: Mapping[Partition, Committed], now: float, *, tell: bool = False
    ) -> Outcome:
        """`tell`: the application hears of it in a later poll, and does not wait."""
        assert self._committing is not None
        outcome = Outcome(offsets)

        def then(result: Codes | Failure) -> None:
            outcome.done = True
            if isinstance(result, Failure):
                outcome.error = result
            else:
                outcome.codes = result
                self._note(outcome)
            if tell:
                self.to_tell.append(outcome)

        self._committing.commit(offsets, then, now)
        return outcome

    def _note(self, outcome: Outcome) -> None:
        for partition, (offset, epoch, _) in outcome.offsets.items():
            place = self._positions.places.get(partition)
            if place is not None and outcome.codes.get(partition) == ErrorCode.none:
                place.committed = Position(offset, epoch)

    # -- by itself -------------------------------------------------------------------------

    def commit_if_due(self, now: float) -> None:
        if not self._auto:
            return
        if self._due is not None and now >= self._due and (offsets := self.consumed()):
            self.commit(offsets, now, tell=True)
        if self._due is None or now >= self._due:
            self._due = now + self._interval

    def last(self, partitions: Iterable[Partition] | None, now: float) -> Outcome | None:
        """Before these partitions go to others: what is to be waited for."""
        if not self._auto or not (offsets := self.consumed(partitions)):
            return None
        return self.commit(offsets, now)
