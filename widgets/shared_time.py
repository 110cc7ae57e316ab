"""One clock for all views of a run: where one goes back, the others go along.

    view.seek ──> view.follow(at)
             └──> SharedTime.tell ──> other.follow(at)     each view of the same run
                                      at None: now, or the end

A run is a cluster, a recording (loaded twice it is still the same run), or a simulator's trace. Of
the views, those that a page shows at the moment come first.

Invariant: nobody holds the lock of a view while others are told, so that two views can tell each
other at the same time.
"""

from typing import Any, ClassVar, Protocol
from weakref import WeakSet, WeakValueDictionary

from engine.cluster.recording import Recording
from widgets.replay.simulated_run import SimulatedRun


class FollowsTime(Protocol):
    @property
    def visible(self) -> bool: ...

    def follow(self, at: int | None) -> None: ...


class SharedTime:
    _known: ClassVar[WeakValueDictionary[object, "SharedTime"]] = WeakValueDictionary()

    def __init__(self) -> None:
        self._views: WeakSet[Any] = WeakSet()

    @classmethod
    def of(cls, source: Any) -> "SharedTime":
        """That of a run: as long as one of its views lives, it does."""
        run = _run(source)
        found = cls._known.get(run)
        if found is None:
            found = cls._known[run] = cls()
        return found

    def join(self, view: FollowsTime) -> None:
        self._views.add(view)

    def leave(self, view: FollowsTime) -> None:
        self._views.discard(view)

    def tell(self, teller: FollowsTime, at: int | None) -> None:
        others: list[FollowsTime] = [each for each in self._views if each is not teller]
        for view in sorted(others, key=lambda each: not each.visible):
            view.follow(at)


def _run(source: Any) -> object:
    if isinstance(source, Recording):
        return source.start, source.end, len(source.events())
    # The views hold it as long as they live.
    return id(source.trace if isinstance(source, SimulatedRun) else source)
