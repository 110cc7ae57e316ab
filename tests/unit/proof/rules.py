"""Rules for the challenges: the answers, and wrong ones, each with the stage that breaks it."""

from typing import Any

# The answers: as the engine has them.


class HighWatermark:
    def high_watermark(self, end: int, ends: Any, isr: Any, joining: Any, old: int) -> int:
        return max(old, min([end, *(ends[broker] for broker in isr | joining)]))


class Join:
    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        return end >= max(high_watermark, epoch_start)


class Truncate:
    def cut(self, epochs: Any, log_end: int, high_watermark: int, epoch: int, end: int) -> int:
        younger = [start for known, start in epochs if known > epoch]
        ours = min(younger, default=log_end)
        if not any(known == epoch for known, _ in epochs):
            return min(ours, log_end)
        return min(ours, end, log_end)


class Fence:
    def obey(self, epoch: int, known: int) -> bool:
        return epoch >= known

    def serve(self, epoch: int, known: int) -> bool:
        return epoch == known


class Sequences:
    def place(self, first: int, last: int, newer: bool, stored: Any) -> int:
        if newer:
            return -1 if first == 0 else -2
        if (first, last) in stored:
            return list(stored).index((first, last))
        return -1 if not stored or first == stored[-1][1] + 1 else -2


class Generation:
    def may_commit(self, generation: int, current: int, member: bool, decided: bool) -> bool:
        return member and decided and generation == current


class Stable:
    def last_stable(self, high_watermark: int, open: Any, ended: Any) -> int:
        pending = [first for first, marker in ended if marker >= high_watermark]
        return min([high_watermark, *open, *pending])


class Resume:
    def resume(self, state: str) -> str:
        return {"PrepareCommit": "commit", "PrepareAbort": "abort"}.get(state, "wait")


ANSWERS: dict[str, type] = {
    "high-watermark": HighWatermark,
    "join-the-isr": Join,
    "truncate": Truncate,
    "fence-by-epoch": Fence,
    "remember-batches": Sequences,
    "fence-a-generation": Generation,
    "last-stable-offset": Stable,
    "two-phases": Resume,
}


# Wrong ones: what somebody may believe, by challenge; each with the stages that may break it.


class Majority:
    """As in Raft."""

    def high_watermark(self, end: int, ends: Any, isr: Any, joining: Any, old: int) -> int:
        return max(old, sorted([end, *ends.values()])[len(ends) // 2])


class LeadersEnd:
    def high_watermark(self, end: int, ends: Any, isr: Any, joining: Any, old: int) -> int:
        return end


class WithoutTheOld:
    def high_watermark(self, end: int, ends: Any, isr: Any, joining: Any, old: int) -> int:
        return min([end, *(ends[broker] for broker in isr | joining)])


class WaitsForAll:
    """A broker that is down for a week stops every producer."""

    def high_watermark(self, end: int, ends: Any, isr: Any, joining: Any, old: int) -> int:
        return max(old, min([end, *ends.values()]))


class AboveTheMark:
    """A new leader's mark is too low."""

    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        return end > 0


class NearTheMark:
    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        return end >= high_watermark - 3


class AtTheMark:
    """What the leader's own log had when its epoch began may be committed."""

    def may_join(self, end: int, high_watermark: int, epoch_start: int) -> bool:
        return end >= high_watermark


class CutsNothing:
    def cut(self, epochs: Any, log_end: int, high_watermark: int, epoch: int, end: int) -> int:
        return log_end


class CutsByItself:
    """The leader's end of that epoch may be before its own."""

    def cut(self, epochs: Any, log_end: int, high_watermark: int, epoch: int, end: int) -> int:
        return min([start for known, start in epochs if known > epoch], default=log_end)


class CutsAtTheLeaders:
    """The leader may lack an epoch of this log."""

    def cut(self, epochs: Any, log_end: int, high_watermark: int, epoch: int, end: int) -> int:
        return min(end, log_end)


class CutsAll:
    def cut(self, epochs: Any, log_end: int, high_watermark: int, epoch: int, end: int) -> int:
        return 0


class ServesTheNewer(Fence):
    """The follower has heard of a leader that has replaced this one."""

    def serve(self, epoch: int, known: int) -> bool:
        return epoch >= known


class RefusesAll:
    def place(self, first: int, last: int, newer: bool, stored: Any) -> int:
        return -2


class RefusesRepetitions(Sequences):
    def place(self, first: int, last: int, newer: bool, stored: Any) -> int:
        place = super().place(first, last, newer, stored)
        return place if place < 0 else -2


class AppendsGaps:
    """Whatever is no repetition is new."""

    def place(self, first: int, last: int, newer: bool, stored: Any) -> int:
        return list(stored).index((first, last)) if (first, last) in stored and not newer else -1


class RemembersOne:
    def place(self, first: int, last: int, newer: bool, stored: Any) -> int:
        if stored and (first, last) == stored[-1] and not newer:
            return len(stored) - 1
        return -1


class AppendsOld(Sequences):
    """What is older than the stored batches was appended once, and its offset is forgotten."""

    def place(self, first: int, last: int, newer: bool, stored: Any) -> int:
        is_old = bool(not newer and stored and first < stored[0][0])
        return -1 if is_old else super().place(first, last, newer, stored)


class MatchesTheFirst(Sequences):
    """A batch that begins as a stored one does is that one."""

    def place(self, first: int, last: int, newer: bool, stored: Any) -> int:
        same = [place for place, (begin, _) in enumerate(stored) if begin == first]
        return same[0] if same and not newer else super().place(first, last, newer, stored)


class AnyNumberInANewEpoch(Sequences):
    """A batch before it, of the new epoch, may have been lost."""

    def place(self, first: int, last: int, newer: bool, stored: Any) -> int:
        return -1 if newer else super().place(first, last, newer, stored)


class LooksAtTheEpochLast(Sequences):
    """In a new epoch the numbers begin anew, and may be the same as before."""

    def place(self, first: int, last: int, newer: bool, stored: Any) -> int:
        if (first, last) in stored:
            return list(stored).index((first, last))
        return super().place(first, last, newer, stored)


class AnyMember:
    def may_commit(self, generation: int, current: int, member: bool, decided: bool) -> bool:
        return member


class BeforeTheAssignment:
    def may_commit(self, generation: int, current: int, member: bool, decided: bool) -> bool:
        return member and generation == current


class OnlyTheGeneration:
    def may_commit(self, generation: int, current: int, member: bool, decided: bool) -> bool:
        return generation <= current


class AnyOutsider(Generation):
    """The group has members: who is in no group commits over their offsets."""

    def may_commit(self, generation: int, current: int, member: bool, decided: bool) -> bool:
        return generation == -1 or super().may_commit(generation, current, member, decided)


class LaterGenerations:
    def may_commit(self, generation: int, current: int, member: bool, decided: bool) -> bool:
        return member and decided and generation >= current


class OpenOnly:
    """A marker that is not replicated may be lost."""

    def last_stable(self, high_watermark: int, open: Any, ended: Any) -> int:
        return min([high_watermark, *open])


class NewestOpen:
    def last_stable(self, high_watermark: int, open: Any, ended: Any) -> int:
        return min(high_watermark, max(open, default=high_watermark))


class OneTooFew(Stable):
    def last_stable(self, high_watermark: int, open: Any, ended: Any) -> int:
        return super().last_stable(high_watermark - 1, open, ended)


class ForgetsTheMarkers:
    """Whose marker is replicated is not open any more."""

    def last_stable(self, high_watermark: int, open: Any, ended: Any) -> int:
        return min([high_watermark, *open, *(first for first, _ in ended)])


class FirstOfTheIsr:
    """Any of them has all records; but the preferred one is to lead."""

    def leader(self, candidates: Any, isr: Any, live: Any) -> int:
        return next((each for each in isr if each in live and each in candidates), -1)


class LastOfTheCandidates:
    def leader(self, candidates: Any, isr: Any, live: Any) -> int:
        return next((it for it in reversed(candidates) if it in live and it in isr), -1)


class FourSeconds:
    """The time of the stories, and not the one that is set."""

    def must_leave(self, end: int, leader_end: int, behind_ms: int, max_lag_ms: int) -> bool:
        return end < leader_end and behind_ms > 4000


class AlwaysCommits:
    def resume(self, state: str) -> str:
        return "commit" if state.startswith("Prepare") else "wait"


class AlwaysAborts:
    def resume(self, state: str) -> str:
        return "abort" if state.startswith("Prepare") else "wait"


WRONG: dict[type, str] = {
    Majority: "high-watermark",
    LeadersEnd: "high-watermark",
    WithoutTheOld: "high-watermark",
    WaitsForAll: "high-watermark",
    AboveTheMark: "join-the-isr",
    NearTheMark: "join-the-isr",
    AtTheMark: "join-the-isr",
    CutsNothing: "truncate",
    CutsByItself: "truncate",
    CutsAtTheLeaders: "truncate",
    CutsAll: "truncate",
    ServesTheNewer: "fence-by-epoch",
    RefusesAll: "remember-batches",
    RefusesRepetitions: "remember-batches",
    AppendsGaps: "remember-batches",
    RemembersOne: "remember-batches",
    AppendsOld: "remember-batches",
    MatchesTheFirst: "remember-batches",
    AnyNumberInANewEpoch: "remember-batches",
    LooksAtTheEpochLast: "remember-batches",
    BeforeTheAssignment: "fence-a-generation",
    AnyMember: "fence-a-generation",
    OnlyTheGeneration: "fence-a-generation",
    AnyOutsider: "fence-a-generation",
    LaterGenerations: "fence-a-generation",
    OpenOnly: "last-stable-offset",
    NewestOpen: "last-stable-offset",
    OneTooFew: "last-stable-offset",
    ForgetsTheMarkers: "last-stable-offset",
    FirstOfTheIsr: "elect-a-leader",
    LastOfTheCandidates: "elect-a-leader",
    FourSeconds: "shrink-the-isr",
    AlwaysCommits: "two-phases",
    AlwaysAborts: "two-phases",
}

# Of these, the ones that no storm breaks: a drawn case does.
OF_CASES = (
    WaitsForAll,
    AtTheMark,
    CutsAtTheLeaders,
    ServesTheNewer,
    RefusesAll,
    RefusesRepetitions,
    AppendsOld,
    MatchesTheFirst,
    AnyNumberInANewEpoch,
    LooksAtTheEpochLast,
    OneTooFew,
    ForgetsTheMarkers,
    FirstOfTheIsr,
    LastOfTheCandidates,
    FourSeconds,
    BeforeTheAssignment,
    AnyOutsider,
    LaterGenerations,
)
