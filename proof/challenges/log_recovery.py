"""The torn log: after a power failure, which batches of the file are whole?

    | batch | batch | batch | bat            the end was never written
    | batch | batch | batch | 000000000      the file has grown, and the bytes did not come
    | batch | batch | ba?ch | batch          some bytes came, others did not
              ^ recovery point               before it everything was flushed, and is whole

The rule stands in the survey of a real log directory, and the engine loads the log with it. All
records up to the first torn batch must be there, and nothing after it.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

from engine.config import TopicConfig
from engine.model import TopicPartition
from engine.storage import loading, records
from engine.storage.batch import HEADER_SIZE, Header
from engine.storage.files import Buffer
from engine.storage.log import Log
from engine.storage.records import Record
from engine.storage.segment import file_name
from engine.storage.survey import LogOffline, Surveyor
from proof.challenges.challenge import Challenge
from proof.challenges.guard import RuleGuard
from proof.challenges.trial import CaseStage, CaseTrial, PromiseBroken

NOW = 1_000_000
ORDERS = TopicPartition("orders", 0)
LONGEST = 120  # bytes of a value
ZEROS = 200  # at the end, at most


class WholeRule(Protocol):
    def is_whole(self, file: bytes, position: int) -> bool:
        """After a crash: does a whole batch begin at `position` in this log file?

        A batch begins with its base offset (8 bytes) and a length (4 bytes): that of all that
        follows the length. You may import `Header`, `crc_ok` and `HEADER_SIZE` from
        engine.storage.batch: Header.parse(file, position) needs HEADER_SIZE bytes, its `size` is
        that of the batch, and crc_ok(file, position, header) compares the batch with its CRC. If
        you return False, the log is cut at `position`.
        """


class TornFile(NamedTuple):
    values: Sequence[bytes]  # of the records, one a batch
    flushed: int  # the first offset that may be torn
    harm: str = ""  # "cut", "zeros" or "flip"; "": nothing
    place: float = 0.0  # of the harm, from the flushed part to the end of the file
    zeros: int = 0  # that follow

    @property
    def size(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        told = {
            "": "It is whole.",
            "cut": "Its end is missing.",
            "zeros": f"Its end is missing, and {self.zeros} zeros follow.",
            "flip": "One byte is wrong.",
        }
        return f"The log had {self.size} batches, flushed up to {self.flushed}. {told[self.harm]}"


def put_whole(guard: RuleGuard) -> type[Surveyor]:
    class RuledSurveyor(Surveyor):
        @staticmethod
        def torn(data: Buffer, position: int) -> str:
            left = len(data) - position
            if not guard.call("is_whole", bool, bytes(data), position):
                return f"the last {left} bytes are not a whole batch"
            header = Header.parse(data, position) if left >= HEADER_SIZE else Header()
            if not HEADER_SIZE <= header.size <= left:
                raise PromiseBroken(
                    f"at byte {position} a batch counts as whole that has {header.size} bytes by "
                    f"its length, and the file has {left} bytes more."
                )
            return ""

    return RuledSurveyor


def check_whole(guard: RuleGuard, case: TornFile) -> None:
    with TemporaryDirectory() as home:
        directory = Path(home) / str(ORDERS)
        whole = _write(directory, case)
        try:
            log = _load(directory, case.flushed, surveyor=put_whole(guard))
        except LogOffline as error:
            raise PromiseBroken(
                f"The broker does not open the log: {error.facts['reason']}."
            ) from error
        end = log.end_offset
        log.abandon()
    if end < whole:
        raise PromiseBroken(
            f"records 0 to {whole - 1} were whole, and the log was cut at {end}: they are lost."
        )
    if end > whole:
        raise PromiseBroken(
            f"the batch of offset {whole} is torn, and the log goes on to {end}: consumers get it."
        )


def _load(directory: Path, flushed: int, surveyor: type[Surveyor] = Surveyor) -> Log:
    config = TopicConfig()
    return loading.load(
        directory, ORDERS, config, now=NOW, recovery_point=flushed, surveyor=surveyor
    )


def _write(directory: Path, case: TornFile) -> int:
    """The log, with its harm; returns the offset of the first batch that is not whole."""
    log = _load(directory, 0)
    starts = []
    for value in case.values:
        starts.append(log.size)
        log.append(records.encode([Record(0, NOW, None, value)]), 0, NOW)
    log.close(NOW)
    path = directory / file_name(0, ".log")
    data = bytearray(path.read_bytes())
    first = starts[case.flushed] if case.flushed < case.size else len(data)
    at = first + round(case.place * (len(data) - first))
    if case.harm == "zeros":  # the last whole batch is written, and the file has grown
        at = min([each for each in starts if each >= at], default=len(data))
    if not case.harm or (at >= len(data) and not case.zeros):
        return case.size
    if case.harm == "flip":
        # Not in the base offset or the epoch: no CRC covers them.
        start = max(each for each in starts if each <= at)
        at = max(at, start + HEADER_SIZE)
        data[at] ^= 0xFF
        whole = starts.index(start)
    else:
        whole = sum(start < at for start in starts) - (at not in (*starts, len(data)))
        del data[at:]
        data += bytes(case.zeros)
    path.write_bytes(data)
    return whole


# -- cases -----------------------------------------------------------------------------------


def _values(chance: Random, size: int) -> list[bytes]:
    count = chance.randint(max(1, size // 2), size)
    return [chance.randbytes(chance.randint(1, LONGEST)) for _ in range(count)]


def _small(chance: Random, size: int) -> TornFile:
    values = _values(chance, min(size, 6))
    return TornFile(values, len(values))


def _cut(chance: Random, size: int) -> TornFile:
    values = _values(chance, size)
    return TornFile(values, chance.randrange(len(values)), "cut", chance.random())


def _torn(chance: Random, size: int) -> TornFile:
    return _cut(chance, size)._replace(harm="flip")


def _everything(chance: Random, size: int) -> TornFile:
    case = _cut(chance, size)
    harm = chance.choice(("cut", "zeros", "zeros", "flip"))
    return case._replace(harm=harm, zeros=chance.randint(1, ZEROS) if harm == "zeros" else 0)


CHALLENGE = Challenge(
    "recover-a-log",
    "The power failed: which batches are whole?",
    "recovery",
    WholeRule,
    CaseTrial(
        check_whole,
        "batch",
        (
            CaseStage("small logs", _small),
            CaseStage("many sizes", _cut),
            CaseStage("torn files", _torn),
            CaseStage("everything", _everything),
        ),
    ),
    naive="""from engine.storage.batch import HEADER_SIZE, Header


class Mine:
    def is_whole(self, file, position):
        if len(file) - position < HEADER_SIZE:
            return False
        return Header.parse(file, position).size <= len(file) - position
""",
    hints=(
        "The length says how long a batch should be. What says that its bytes are those that were "
        "sent?",
        "A file may be long enough, and some of its blocks were never written.",
        "Zeros have a length, too: it is 0, and so is the CRC of nothing. No batch is shorter than "
        "its header.",
    ),
    read="engine/storage/survey.py, torn",
)
