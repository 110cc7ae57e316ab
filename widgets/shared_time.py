"""One clock for all views of a run: where one goes back, the others go along.

    view.seek ──> view.follow(at)
             └──> SharedTime.tell ──> other.follow(at)     each view of the same run
                                      at None: now, or the end

A run is a cluster, a recording (loaded twice it is still the same run), or a simulator's trace. Of
the views, those that a page shows at the moment come first.

Invariant: nobody holds the lock of a view while others are told, so that two views can tell each
other at the same time.
"""

from typing import Any, ClassVar, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary

from engine.cluster.recording import Recording
from widgets.replay.simulated_run import SimulatedRun
from widgets.view import View

State = TypeVar("State")


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


class TimedView(View[State]):
    """A view of a run whose time it may share with others."""

    shared: SharedTime | None = None

    def join_time(self, source: Any) -> None:
        """Share the time of this run, and no more that of the run before."""
        self._join(SharedTime.of(source))

    def share_clock(self, view: "TimedView[Any]") -> None:
        """Share the time with a view of another run: where one goes back, the other goes along."""
        assert view.shared is not None, "a view of a run"
        self._join(view.shared)

    def _join(self, shared: SharedTime) -> None:
        self._leave()
        self.shared = shared
        shared.join(self)

    def _leave(self) -> None:
        if self.shared is not None:
            self.shared.leave(self)

    def tell_time(self, at: int | None) -> None:
        """Tell all other views of the run which time is shown; None: now, or the end."""
        if self.shared is not None:
            self.shared.tell(self, at)

    def follow(self, at: int | None) -> None:
        """Show this time here, because another view does."""

    def close(self) -> None:
        self._leave()
        super().close()


def _run(source: Any) -> object:
    if isinstance(source, Recording):
        return source.start, source.end, len(source.events())
    # The views hold it as long as they live.
    return id(source.trace if isinstance(source, SimulatedRun) else source)
