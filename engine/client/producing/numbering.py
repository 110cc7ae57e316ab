"""The numbers of an idempotent producer's records, in one partition: KIP-98 and KIP-360.

    producer id 7, epoch 0    | 0 1 2 | 3 4 | 5 6 7 8 | ...       batches, sent one after the other
                                stored   ?       ?

A log takes a batch only if its number follows on. One that it has it does not store again; behind
a gap it answers OUT_OF_ORDER_SEQUENCE_NUMBER. So whatever is lost, sent twice or overtaken, the
records of a partition are stored once and in order, as long as we send the same batch with the
same number until we know what became of it.

Sometimes we never will: its time was up (`unsure`). Nothing new is sent until those behind it
have been answered, for they tell. If the log lacks a number that will not come any more (`gap`),
the epoch is raised and what is left is numbered from 0 again.

A log that does not know us takes any number to begin with. If the second batch came before the
first, the first would count as a duplicate and be lost. So the first one goes alone.

Invariant: `sent` has, in order, the batches with a number whose fate is not known; all that stands
before the first of them is stored or given up.
Invariant: numbers change only while nothing of the partition is on the wire.
"""

from collections.abc import Iterable

from engine.client.producing.batch import NOBODY, Batch, Identity

LAST = 2**31 - 1  # the number after which 0 follows


class Numbers:
    def __init__(self) -> None:
        self.sent: list[Batch] = []
        self.gap = False
        self.unsure = False
        self._identity = NOBODY
        self._next = 0
        self._stored = -1  # the last number that is known to be stored

    def may_go(self, batch: Batch) -> bool:
        """What is sent again goes alone, the first one first: it has to be known what became of
        it. What is new may follow what is on the wire."""
        if self.gap:
            return False
        if batch.numbered:
            return self.sent[0] is batch
        is_known = self._stored >= 0 or not self.sent
        return is_known and not self.unsure

    def number(self, batch: Batch, identity: Identity) -> None:
        """Before a batch is sent for the first time."""
        if identity != self._identity and not self.sent:
            self.begin(identity)
        batch.identity, batch.sequence = self._identity, self._next
        self._next = (self._next + batch.count) & LAST
        self.sent.append(batch)

    def begin(self, identity: Identity) -> None:
        """Number what is left from 0 on, under a new epoch."""
        left, self.sent = self.sent, []
        self._identity, self._next, self._stored = identity, 0, -1
        self.gap = self.unsure = False
        for batch in left:
            self.number(batch, identity)

    def stored(self, batch: Batch) -> None:
        last = (batch.sequence + batch.count - 1) & LAST
        if (last - self._stored) & LAST < LAST // 2:
            self._stored = last
        self._forget(batch)

    def refused(self, batch: Batch) -> None:
        """It is not stored, and never will be."""
        self._forget(batch)
        self.gap = True

    def abandoned(self, batch: Batch) -> None:
        """It is not sent again, and may be stored or not."""
        if batch in self.sent:
            self._forget(batch)
            self.unsure = True

    def out_of_order(self, batch: Batch) -> None:
        """Bad news only for the first: any other may just have overtaken one that failed."""
        if self.sent and self.sent[0] is batch:
            self.gap = True

    def settle(self) -> None:
        """When nothing is on the wire, it is known whether what was abandoned is stored."""
        if self.unsure and not self.sent:
            self.unsure = False
            self.gap |= (self._stored + 1) & LAST != self._next

    def split(self, batch: Batch, pieces: Iterable[Batch]) -> None:
        """The pieces take over the numbers of the whole."""
        sequence, place = batch.sequence, self.sent.index(batch)
        pieces = list(pieces)
        for piece in pieces:
            piece.identity, piece.sequence = batch.identity, sequence
            sequence = (sequence + piece.count) & LAST
        self.sent[place : place + 1] = pieces

    def _forget(self, batch: Batch) -> None:
        if batch in self.sent:
            self.sent.remove(batch)
