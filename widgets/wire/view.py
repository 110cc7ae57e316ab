"""WireView: what clients and brokers say to each other, as it is said.

    WireView(cluster)                                       everybody, live
    WireView(cluster, between=("producer-1", 1))            a client, by client.id, and broker 1
    WireView(Recording.load("run.jsonl.gz"))                what was said while it was recorded
    WireView(Trace.of(seed=7))                              a simulated run: words, no bytes

While it shows a live cluster every broker tells of each request, with its bytes. That costs the
brokers something, so it ends when the view is closed, or by the button; it says which it is.

It looks on and never meddles: nothing can be edited or sent.

Invariant: of several views on one cluster the last to be closed ends the trace.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from engine.errors import ErrorCode, KafkaError
from widgets import controls
from widgets.controls import Control
from widgets.stage import Stage
from widgets.wire.exchange import MOST, Conversation, broker
from widgets.wire.page import EVERYTHING, Anchor, Page, anchor
from widgets.wire.scene import picture

Party = str | int  # a client.id, or a broker's number
ON = "the trace costs the brokers a little"
OFF = "the trace is off: nothing new is told"
_tracing: "WeakKeyDictionary[Any, set[int]]" = WeakKeyDictionary()  # which views want it
_numbers = count(1)  # of views


class WireView(Stage):
    ACTS: ClassVar[frozenset[str]] = frozenset(
        {"read", "shut", "turn", "api", "fold", "back", "forward", "pause", "seek", "trace"}
    )

    def __init__(self, source: Any, between: Sequence[Party] = ()) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        super().__init__(name="Wire")
        self.source = source
        self.number = next(_numbers)
        self.is_live = hasattr(source, "trace")
        self.talk = Conversation(MOST if self.is_live else 0)
        self.until: Anchor | None = None  # where the page ends; None: it follows
        self.opened = ""
        self._between = frozenset(broker(it) if isinstance(it, int) else it for it in between)
        self._kind, self._fold, self._first = EVERYTHING, True, 0
        self._follows = True  # before a message was opened
        self._drawn: object = None
        if self.is_live:
            self._try(self._switch, True)
        elif hasattr(source, "diagram"):
            self.talk.tell(source)
        self.look()

    # -- looking -------------------------------------------------------------------------

    def look(self) -> bool:
        if not self.is_live:
            if hasattr(self.source, "events") and not self.talk.last:
                self.talk.add(self.source.events())
            self.draw()
            return False
        events = self.source.events(self.talk.last)
        with self.lock:
            self.talk.add(events)
            self.draw()
        return True

    def page(self) -> Page:
        return Page(
            self.talk,
            self.is_live,
            self._between,
            self._kind,
            self._fold,
            self.until,
            self.opened,
        )

    def draw(self) -> None:
        """If it is another picture than that which is shown."""
        with self.lock:
            what = (
                *(len(self.talk.arrows), self.talk.forgotten, self._kind, self._fold, self.until),
                *(self.opened, self._first, self.is_traced),
            )
            if what != self._drawn:
                self._drawn = what
                page = self.page()
                self.about = self._about(page)
                self.show(picture(page, self._first), self._controls(page))

    def _about(self, page: Page) -> str:
        whom = " – ".join(sorted(self._between, reverse=True)) or f"{len(page.present)} parties"
        if not self.is_live:
            return f"{whom} · {len(page.every):,} lines"
        return f"{whom} · {ON if self.is_traced else OFF}"

    def _controls(self, page: Page) -> list[Control]:
        follows = self.until is None
        kinds = [(EVERYTHING, "every API"), *((it, it) for it in self.talk.kinds)]
        found = [
            controls.choice("api", "show", kinds, self._kind),
            controls.button("fold", "fold routine", "count heartbeats and empty fetches in a line",
                            pressed=self._fold),
            controls.button("back", "▴", "further back", off=page.end <= len(page.rows)),
            controls.button("forward", "▾", "further on", off=follows),
        ]  # fmt: skip
        if self.is_live:
            words, label = ("❙❙ pause", "stay here") if follows else ("▾▾ follow", "to the newest")
            found.append(controls.button("pause", words, label))
            found.append(
                controls.button("trace", "● trace", "whether brokers tell their requests",
                                pressed=self.is_traced)
            )  # fmt: skip
        return found

    # -- time ----------------------------------------------------------------------------

    def back(self) -> None:
        """Half a page."""
        self._go(self.page().turned(-0.5))

    def forward(self) -> None:
        self._go(self.page().turned(0.5))

    def seek(self, share: float) -> None:
        """To a place on the strip, from 0 to 1."""
        page = self.page()
        at = page.scale.time(float(share))
        last = page.chosen[-1].at if page.chosen else at
        self._go(None if at >= last else (at, float("inf"), True))

    def pause(self) -> None:
        """Stay with what is seen while more is said; or follow again."""
        page = self.page()
        if self.until is not None or not page.rows:
            self._go(None)
        else:
            last = page.rows[-1].arrow
            self._go((last.at, last.number, True))

    def _go(self, until: Anchor | None) -> None:
        with self.lock:
            self.until = until
            self.draw()

    # -- what is seen --------------------------------------------------------------------

    def api(self, name: str) -> None:
        """Only this one; "": all."""
        with self.lock:
            self._kind = str(name)
            self.draw()

    def fold(self) -> None:
        """Whether what comes all the time is counted, or drawn one by one."""
        with self.lock:
            self._fold = not self._fold
            self.draw()

    def read(self, key: str) -> None:
        """A message by its arrow. The page stays where it is."""
        with self.lock:
            page = self.page()
            arrow = page.find(str(key))
            if arrow is None:
                why = "that message is forgotten: too much was said since"
                raise KafkaError(ErrorCode.invalid_request, why)
            if not self.opened:
                self._follows = self.until is None
            self.opened, self._first = arrow.key, 0
            if self.until is None and page.every:
                self.until = anchor(page.every[-1].arrow)
            self.until = self.page().showing(arrow)
            self.draw()

    def shut(self) -> None:
        """Close the message, and follow again if we did."""
        with self.lock:
            self.opened = ""
            self.until = None if self._follows else self.until
            self.draw()

    def turn(self, first: float) -> None:
        """To other fields of the message that is open."""
        with self.lock:
            self._first = max(int(first), 0)
            self.draw()

    # -- the trace -----------------------------------------------------------------------

    @property
    def is_traced(self) -> bool:
        return self.is_live and bool(_tracing.get(self.source))

    def trace(self) -> None:
        """On or off, for all views of this cluster."""
        self._switch(not self.is_traced)
        self.draw()

    def _switch(self, on: bool) -> None:
        wanted = _tracing.setdefault(self.source, set())
        if on:
            wanted.add(self.number)
        else:
            wanted.clear()
        self.source.trace(on, frames=on)

    def close(self) -> None:
        wanted = _tracing.get(self.source, set()) if self.is_live else set()
        if self.number in wanted:
            wanted.discard(self.number)
            if not wanted:
                self._try(self.source.trace, False)
        super().close()
