"""Rules for the challenges in which one part decides alone: answers, and wrong ones."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from engine.storage.batch import HEADER_SIZE, Header, crc_ok

# The answers: as the engine has them.


class Bisection:
    def slot(self, wanted: int, count: int, read: Callable[[int], int]) -> int:
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if read(middle) <= wanted:
                low = middle + 1
            else:
                high = middle
        return low - 1


class WholeByCrc:
    def is_whole(self, file: bytes, position: int) -> bool:
        left = len(file) - position
        if left < HEADER_SIZE:
            return False
        header = Header.parse(file, position)
        return HEADER_SIZE <= header.size <= left and crc_ok(file, position, header)


class Compact:
    def stays(self, offset: int, latest: int, is_tombstone: bool, is_old: bool) -> bool:
        return latest <= offset and not (is_tombstone and is_old)


class LeaveAfterTheLag:
    def must_leave(self, end: int, leader_end: int, behind_ms: int, max_lag_ms: int) -> bool:
        return end != leader_end and behind_ms > max_lag_ms


class FirstLiveInSync:
    def leader(self, candidates: Any, isr: Any, live: Any) -> int:
        return next((each for each in candidates if each in live and each in isr), -1)


class MoveLittle:
    def assign(self, members: Any, partitions: int, owned: Any) -> dict[str, list[int]]:
        claims = [each for member in members for each in dict.fromkeys(owned[member])]
        held = {
            member: [
                each
                for each in dict.fromkeys(owned[member])
                if 0 <= each < partitions and claims.count(each) == 1
            ]
            for member in members
        }
        quota, more = divmod(partitions, len(members))
        for mine in held.values():
            extra = more > 0 and len(mine) > quota
            more -= extra
            del mine[quota + extra :]
        kept = {each for mine in held.values() for each in mine}
        left = [each for each in range(partitions) if each not in kept]
        while left:
            min(held.values(), key=len).append(left.pop())
        return held


class FirstNotDone:
    def offset(self, polled: Any, done: Any, position: int, committed: int) -> int:
        return next((each for each in polled if each not in done), position)


ANSWERS: dict[str, type] = {
    "index-lookup": Bisection,
    "recover-a-log": WholeByCrc,
    "compact": Compact,
    "shrink-the-isr": LeaveAfterTheLag,
    "elect-a-leader": FirstLiveInSync,
    "move-little": MoveLittle,
    "commit-offsets": FirstNotDone,
}


# Wrong ones: what somebody may believe; each with its challenge, and the stage that breaks it.


class OnlyExactly:
    """An index knows each offset."""

    def slot(self, wanted: int, count: int, read: Callable[[int], int]) -> int:
        at = bisect_right(range(count), wanted, key=read) - 1
        return at if at >= 0 and read(at) == wanted else -1


class NextEntry:
    """The entry after the wanted offset is as good."""

    def slot(self, wanted: int, count: int, read: Callable[[int], int]) -> int:
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if read(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return min(low, count - 1)


class OffsetIsPlace:
    """Offsets are evenly spread: each entry is one offset further."""

    def slot(self, wanted: int, count: int, read: Callable[[int], int]) -> int:
        return max(-1, min(count - 1, wanted - 1))


class CrcAlone:
    """The CRC of nothing is 0: zeros count as a batch."""

    def is_whole(self, file: bytes, position: int) -> bool:
        if len(file) - position < HEADER_SIZE:
            return False
        return crc_ok(file, position, Header.parse(file, position))


class NothingIsTorn:
    def is_whole(self, file: bytes, position: int) -> bool:
        return True


class NothingIsWhole:
    """What is not sure is cut."""

    def is_whole(self, file: bytes, position: int) -> bool:
        return False


class KeepsTombstones:
    def stays(self, offset: int, latest: int, is_tombstone: bool, is_old: bool) -> bool:
        return latest <= offset


class DropsTombstones:
    def stays(self, offset: int, latest: int, is_tombstone: bool, is_old: bool) -> bool:
        return latest <= offset and not is_tombstone


class KeepsEverything:
    def stays(self, offset: int, latest: int, is_tombstone: bool, is_old: bool) -> bool:
        return not (is_tombstone and is_old)


class LeaveAtOnce:
    def must_leave(self, end: int, leader_end: int, behind_ms: int, max_lag_ms: int) -> bool:
        return end < leader_end


class LeaveByRecords:
    """As Kafka did before KIP-16: replica.lag.max.messages."""

    def must_leave(self, end: int, leader_end: int, behind_ms: int, max_lag_ms: int) -> bool:
        return leader_end - end > 10


class LeaveByTime:
    """Also who has everything, if nobody writes."""

    def must_leave(self, end: int, leader_end: int, behind_ms: int, max_lag_ms: int) -> bool:
        return behind_ms > max_lag_ms


class FirstInSync:
    """It may be dead."""

    def leader(self, candidates: Any, isr: Any, live: Any) -> int:
        return next((each for each in candidates if each in isr), -1)


class RatherAnybody:
    """Unclean, always."""

    def leader(self, candidates: Any, isr: Any, live: Any) -> int:
        clean = next((each for each in candidates if each in live and each in isr), -1)
        return clean if clean != -1 else next((each for each in candidates if each in live), -1)


class OnlyThePreferred:
    def leader(self, candidates: Any, isr: Any, live: Any) -> int:
        first: int = candidates[0]
        return first if first in live and first in isr else -1


class LikeRange:
    """Runs of partitions: even, and they all shift."""

    def assign(self, members: Any, partitions: int, owned: Any) -> dict[str, list[int]]:
        quota, more = divmod(partitions, len(members))
        found, at = {}, 0
        for place, member in enumerate(members):
            size = quota + (place < more)
            found[member] = list(range(at, at + size))
            at += size
        return found


class NobodyGivesUp:
    """What is new goes to whoever has least; nobody loses anything."""

    def assign(self, members: Any, partitions: int, owned: Any) -> dict[str, list[int]]:
        held = {member: list(owned[member]) for member in members}
        kept = {each for mine in held.values() for each in mine}
        for each in range(partitions):
            if each not in kept:
                min(held.values(), key=len).append(each)
        return held


class BelievesEachClaim:
    def assign(self, members: Any, partitions: int, owned: Any) -> dict[str, list[int]]:
        held = {member: list(owned[member]) for member in members}
        quota, more = divmod(partitions, len(members))
        for mine in held.values():
            extra = more > 0 and len(mine) > quota
            more -= extra
            del mine[quota + extra :]
        kept = {each for mine in held.values() for each in mine}
        for each in range(partitions):
            if each not in kept:
                min(held.values(), key=len).append(each)
        return held


class LatestDone:
    def offset(self, polled: Any, done: Any, position: int, committed: int) -> int:
        return max(done, default=committed - 1) + 1


class CountsTheDone:
    def offset(self, polled: Any, done: Any, position: int, committed: int) -> int:
        return min(position, committed + len(done))


class WithoutGaps:
    def offset(self, polled: Any, done: Any, position: int, committed: int) -> int:
        while committed in done:
            committed += 1
        return committed


WRONG: dict[type, tuple[str, str]] = {
    OnlyExactly: ("index-lookup", "gaps"),
    NextEntry: ("index-lookup", "small logs"),
    OffsetIsPlace: ("index-lookup", "gaps"),
    CrcAlone: ("recover-a-log", "everything"),
    NothingIsTorn: ("recover-a-log", "many sizes"),
    NothingIsWhole: ("recover-a-log", "small logs"),
    KeepsTombstones: ("compact", "everything"),
    DropsTombstones: ("compact", "tombstones"),
    KeepsEverything: ("compact", "small logs"),
    LeaveAtOnce: ("shrink-the-isr", "slow network"),
    LeaveByRecords: ("shrink-the-isr", "slow network"),
    LeaveByTime: ("shrink-the-isr", "calm"),
    FirstInSync: ("elect-a-leader", "crashes"),
    RatherAnybody: ("elect-a-leader", "crashes"),
    OnlyThePreferred: ("elect-a-leader", "crashes"),
    LikeRange: ("move-little", "members leave"),
    NobodyGivesUp: ("move-little", "members join"),
    BelievesEachClaim: ("move-little", "everything"),
    LatestDone: ("commit-offsets", "crashes"),
    CountsTheDone: ("commit-offsets", "crashes"),
    WithoutGaps: ("commit-offsets", "everything"),
}
