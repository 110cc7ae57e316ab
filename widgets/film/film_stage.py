"""A picture with a run below it: both in one widget, with one row of buttons.

    ┌ the picture itself ──────────────────────┐      shapes(), acts of the subclass
    ├──────────────────────────────────────────┤
    │ ClusterView of a run, with its timeline, │      its acts are passed on to it
    │ or QuorumView, of controllers alone      │
    └──────────────────────────────────────────┘

The run's view is one that no page shows. This widget draws its scene, passes on what is clicked in
it, and lets its time go on.
"""

import time
from typing import Any, ClassVar

from proof.quorum.simulated_quorum import SimulatedQuorum
from proof.storms.trace import Trace
from widgets.cluster_view import ClusterView
from widgets.controls import Control
from widgets.playback import TIME
from widgets.quorum.view import QuorumView
from widgets.replay.simulated_run import SimulatedRun
from widgets.scene import Scene, SceneShape, group, rect
from widgets.stage import SceneWidget

OF_THE_RUN = TIME | {"only", "fork"}
ABOVE = 18  # px between the picture and the run


class FilmStage(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = OF_THE_RUN

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.film: ClusterView | QuorumView | None = None

    # -- for subclasses ----------------------------------------------------------

    def painted(self) -> tuple[float, list[SceneShape]]:
        """The picture above the run: its height and its shapes."""
        raise AssertionError("each stage has a picture")

    def offers(self) -> list[Control]:
        return []

    def open_film(self, trace: Trace, at: int) -> None:
        """Show the run below, at this many milliseconds after its start."""
        self.close_film()
        self.film = film = ClusterView(trace)
        film.fit(self.width)
        run = film.run_source.film
        assert isinstance(run, SimulatedRun)
        film.stop_at(run.start + at - trace[0].at)

    def open_quorum(self, quorum: SimulatedQuorum, at: int) -> None:
        """Show below a run of controllers that is over, at this many ms after its start."""
        self.close_film()
        self.film = film = QuorumView(quorum, is_over=True)
        film.fit(self.width)
        film.seek(at / quorum.now)

    def close_film(self) -> None:
        film, self.film = self.film, None
        if film is not None:
            film.close()

    # -- drawing -----------------------------------------------------------------

    def draw_all(self, title: str, says: str = "") -> None:
        with self.lock:
            height, shapes = self.painted()
            offered = self.offers()
            if self.film is not None and self.film.picture is not None:
                run = self.film.picture
                line = rect("above the run", 0, height, self.width, 1, look="card")
                shapes += [line, group("the run", 0, height + ABOVE, run.shapes)]
                height += ABOVE + run.height
                offered = [*offered, *self.film.controls]
            self.show(Scene(self.width, height, shapes, title=title, says=says), offered)

    def fit(self, width: float, height: float = 0) -> None:
        if self.film is not None:
            self.film.fit(width)
        super().fit(width, height)

    # -- the run -----------------------------------------------------------------

    def do(self, act: str, *on: Any) -> None:
        if act in OF_THE_RUN and self.film is not None:
            self.film.do(act, *on)
            self.trouble = self.film.trouble
            self.draw()
            self.refresh()
        else:
            super().do(act, *on)

    def poll(self) -> bool:
        if self.film is None:
            return False
        more = self.film.advance(time.monotonic())
        self.draw()
        return more

    def close(self) -> None:
        self.close_film()
        super().close()
