"""AccumulatorView: shows the batches of a producer, and goes back in their run, event by event.

    AccumulatorView(producer)                        an engine.Producer
    AccumulatorView.replay(json.load(file))          a saved run: `view.moments()`; no brokers

A page that shows it asks the producer ten times a second. What happened between two polls is not
lost: the producer publishes each batch with its times, and the last thousand that are done.

Invariant: the head is None (live, or at the end) or the number of an event.
"""

from typing import ClassVar

from engine.client.producer import Producer
from widgets import controls
from widgets.accumulator.history import AccumulatorHistory, Plain
from widgets.accumulator.scene import ROWS, AccumulatorViewState, header, picture
from widgets.controls import Control
from widgets.scene import Scene
from widgets.step_view import STEP_ACTS, StepView
from widgets.view import redraws


class AccumulatorView(StepView[AccumulatorViewState]):
    ACTS: ClassVar[frozenset[str]] = STEP_ACTS | {"choose", "page"}
    PACE, STEP = 0.15, "an event"

    def __init__(self, producer: Producer | None, kept: Plain | None = None) -> None:
        super().__init__(name="Producer")
        self.producer = producer
        self.history = AccumulatorHistory.of(kept) if kept else AccumulatorHistory()
        self._page = self._chosen = 0
        self.poll()

    @classmethod
    def replay(cls, moments: Plain) -> "AccumulatorView":
        return cls(None, moments)

    # -- looking ---------------------------------------------------------------------------

    def poll(self) -> bool:
        """Ask the producer, and draw changes. False: nothing more will come by itself."""
        buffer = self.producer.buffer_state() if self.producer else None
        with self.lock:
            if buffer is not None:
                self.history.add(buffer)
            self._step_on(self.clock())
            self.draw()
            return self.playing or (buffer is not None and not buffer.closed)

    def view_state(self) -> AccumulatorViewState:
        moment = self.history.at(self.head)
        page = min(self._page, max(len(moment.partitions) - 1, 0) // ROWS)
        return AccumulatorViewState(self.history, moment, self.head, page, self._chosen, self.width)

    def gist(self, state: AccumulatorViewState) -> tuple[object, ...]:
        buffer = state.moment.buffer
        chosen = state.index, state.page, state.chosen
        return state.moment.batches, buffer.used, buffer.closed, *chosen

    def headline(self, state: AccumulatorViewState) -> str:
        return header(state)

    def painted(self, state: AccumulatorViewState) -> Scene:
        return picture(state)

    def offers(self, state: AccumulatorViewState) -> list[Control]:
        found = self._time_buttons(live=self.producer is not None)
        many = len(state.moment.partitions)
        if many > ROWS:
            pages = [
                (str(at // ROWS), f"{at + 1} to {min(at + ROWS, many)} of {many}")
                for at in range(0, many, ROWS)
            ]
            found.append(controls.choice("page", "partitions", pages, str(state.page)))
        return found

    # -- acts ------------------------------------------------------------------------------

    @redraws
    def choose(self, number: float) -> None:
        """Say below the rows what happened to a batch; chosen again: no more."""
        self._chosen = 0 if int(number) == self._chosen else int(number)

    @redraws
    def page(self, number: str) -> None:
        """Other partitions."""
        self._page = max(int(number), 0)

    def seek(self, share: float) -> None:
        """To a place on the timeline, from 0 to 1."""
        self._go(round(float(share) * self._last))

    @property
    def _first(self) -> int:
        return 0

    @property
    def _last(self) -> int:
        return len(self.history.times) - 1

    # -- the rest --------------------------------------------------------------------------

    def moments(self) -> Plain:
        """The run up to now, as plain JSON for `replay`."""
        self.poll()
        with self.lock:
            return self.history.plain()
