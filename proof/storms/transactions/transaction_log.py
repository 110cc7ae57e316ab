"""The transactions in the committed log of a partition, by its records and markers.

    open ──> committed, by a COMMIT marker
         └─> aborted, by an ABORT marker        a marker ends what its producer has open

An invariant of the log is noted here, since it is seen batch by batch: the epoch of a producer only
grows.
"""

from dataclasses import dataclass

from engine.sim.client import rows_of
from engine.sim.disk import Stored
from engine.storage import control
from engine.storage.control import ControlType


@dataclass(eq=False)
class TransactionInLog:
    """The part of a transaction that is in one partition."""

    first_offset: int
    end: ControlType | None = None  # None: it is open


class TransactionLog:
    """The transactions in the committed log of a partition."""

    def __init__(self) -> None:
        self.records: list[tuple[str, TransactionInLog]] = []  # in the order of the log
        self.open: dict[int, TransactionInLog] = {}  # by producer id
        self.fenced: list[str] = []  # records and markers of a producer whose epoch is over
        self._epochs: dict[int, int] = {}
        self._read = 0  # batches

    def follow(self, committed: list[Stored]) -> None:
        for header, data in committed[self._read :]:
            producer, epoch = header.producer_id, header.producer_epoch
            if epoch < self._epochs.get(producer, epoch):
                now = self._epochs[producer]
                self.fenced.append(f"at {header.base_offset} epoch {epoch} follows {now}")
            self._epochs[producer] = epoch
            if header.is_control:
                marker = control.find(data, header)
                ended = self.open.pop(producer, None)
                if ended is not None and marker is not None:
                    ended.end = marker.type
                continue
            found = self.open.setdefault(producer, TransactionInLog(header.base_offset))
            self.records += [(row.value, found) for row in rows_of(data)]
        self._read = len(committed)

    @property
    def committed(self) -> list[str]:
        """What a reader with isolation.level=read_committed gets, in its order."""
        return [value for value, it in self.records if it.end is ControlType.COMMIT]
