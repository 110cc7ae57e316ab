"""AccumulatorView: shows the batches of a producer, and goes back in their run, event by event.

    AccumulatorView(producer)                        an engine.Producer
    AccumulatorView.replay(json.load(file))          a saved run: `view.moments()`; no brokers

A page that shows it asks the producer ten times a second. What happened between two polls is not
lost: the producer publishes each batch with its times, and the last thousand that are done.

Invariant: the head is None (live, or at the end) or the number of an event.
"""

import time
from typing import ClassVar

from engine.client.producer import Producer
from widgets import controls
from widgets.accumulator.history import AccumulatorHistory, Plain
from widgets.accumulator.scene import ROWS, AccumulatorViewState, header, picture
from widgets.controls import Control
from widgets.stage import SceneWidget

PACE = 0.15  # seconds for an event when the run is played
TIME = frozenset({"seek", "begin", "back", "play", "forward", "live"})


class AccumulatorView(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = TIME | {"choose", "page"}

    def __init__(self, producer: Producer | None, kept: Plain | None = None) -> None:
        super().__init__(name="Producer")
        self.producer = producer
        self.history = AccumulatorHistory.of(kept) if kept else AccumulatorHistory()
        self._head: int | None = None
        self._turn: float | None = None  # when the next event is shown, while the run is played
        self._page = self._chosen = 0
        self._drawn: object = None
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
            if self._turn is not None and time.monotonic() >= self._turn:
                self._turn = time.monotonic() + PACE
                self._set((self._head or 0) + 1)
            self.draw()
            return self._turn is not None or (buffer is not None and not buffer.closed)

    def view_state(self) -> AccumulatorViewState:
        moment = self.history.at(self._head)
        page = min(self._page, max(len(moment.partitions) - 1, 0) // ROWS)
        return AccumulatorViewState(
            self.history, moment, self._head, page, self._chosen, self.width
        )

    def draw(self) -> None:
        """Draw the moment, if its picture differs from the one shown."""
        with self.lock:
            it, buffer = self.view_state(), self.history.buffer
            assert buffer is not None, "the producer was asked"
            now = (it.moment.batches, buffer.used, buffer.closed, self._head, it.page, self._chosen)
            if (*now, self._turn is None, self.width) == self._drawn:
                return
            self._drawn = (*now, self._turn is None, self.width)
            self.about = header(it)
            self.show(picture(it), self._controls(it))

    def _controls(self, it: AccumulatorViewState) -> list[Control]:
        playing, off = self._turn is not None, not self.history.times
        found = [
            controls.button("begin", "◂◂", "back to the first event", off=off),
            controls.button("back", "◂", "an event back", off=off),
            controls.button(
                "play", "❙❙" if playing else "▸", "pause" if playing else "play", off=off
            ),
            controls.button("forward", "▸❘", "an event on", off=off),
        ]
        if self.producer is not None:
            pressed = self._head is None
            found.append(controls.button("live", "● live", "back to now", pressed=pressed))
        else:
            found.append(controls.button("live", "▸▸", "to the end", off=off))
        many = len(it.moment.partitions)
        if many > ROWS:
            pages = [
                (str(at // ROWS), f"{at + 1} to {min(at + ROWS, many)} of {many}")
                for at in range(0, many, ROWS)
            ]
            found.append(controls.choice("page", "partitions", pages, str(it.page)))
        return found

    # -- acts ------------------------------------------------------------------------------

    def choose(self, number: float) -> None:
        """Say below the rows what happened to a batch; chosen again: no more."""
        with self.lock:
            self._chosen = 0 if int(number) == self._chosen else int(number)
            self.draw()

    def page(self, number: str) -> None:
        """Other partitions."""
        with self.lock:
            self._page = max(int(number), 0)
            self.draw()

    def seek(self, share: float) -> None:
        """To a place on the timeline, from 0 to 1."""
        self._go(round(float(share) * self._last))

    def begin(self) -> None:
        self._go(0)

    def back(self) -> None:
        self._go((self._last if self._head is None else self._head) - 1)

    def forward(self) -> None:
        """To the next event; after the last, to now."""
        self._go(None if self._head is None else self._head + 1)

    def live(self) -> None:
        self._go(None)

    def play(self) -> None:
        """Play event by event from here, or from the first if this is the last; or pause."""
        with self.lock:
            if self._turn is not None:
                self._turn = None
            elif self.history.times:
                if self._head is None:
                    self._head = 0
                self._turn = time.monotonic() + PACE
            self.draw()
        self.refresh()

    @property
    def _last(self) -> int:
        return len(self.history.times) - 1

    def _go(self, to: int | None) -> None:
        with self.lock:
            self._turn = None
            self._set(to)
            self.draw()

    def _set(self, to: int | None) -> None:
        last = to is None or to >= self._last
        self._head = None if last else max(to or 0, 0)
        if self._head is None:
            self._turn = None

    # -- the rest --------------------------------------------------------------------------

    def moments(self) -> Plain:
        """The run up to now, as plain JSON for `replay`."""
        self.poll()
        with self.lock:
            return self.history.plain()
