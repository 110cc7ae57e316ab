"""WireView: the requests and responses of clients and brokers, live.

    WireView(cluster)                                       all parties, live
    WireView(cluster, between=("producer-1", 1))            a client, by client.id, and broker 1
    WireView(Recording.load("run.jsonl.gz"))                the messages of a recording
    WireView(Trace.of(seed=7))                              a simulated run: texts, no bytes

While it shows a live cluster, every broker reports each request, with its bytes. That makes the
brokers slower, so it ends when the view is closed, or by a button, which shows the current state.

It changes nothing in the cluster, and sends no message of its own.

Invariant: if there are several views on one cluster, the last one to be closed ends the trace.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from engine.errors import ApiException, ErrorCode
from widgets import controls
from widgets.controls import Control
from widgets.shared_time import SharedTime
from widgets.stage import SceneWidget
from widgets.wire.exchange import MOST, MessageLog, broker
from widgets.wire.page import EVERYTHING, Anchor, WirePage, anchor
from widgets.wire.scene import picture

Party = str | int  # a client.id, or a broker's number
ON = "the trace costs the brokers a little"
OFF = "the trace is off: nothing new is told"
_tracing: "WeakKeyDictionary[Any, set[int]]" = WeakKeyDictionary()  # the views that need the trace
_numbers = count(1)  # of views


class WireView(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = frozenset(
        {"read", "shut", "turn", "api", "fold", "back", "forward", "pause", "seek", "trace"}
    )

    def __init__(self, source: Any, between: Sequence[Party] = ()) -> None:
        """`source`: an engine.Cluster, a Recording of one, or a simulator's trace."""
        super().__init__(name="Wire")
        self.source = source
        self.number = next(_numbers)
        self.is_live = hasattr(source, "trace")
        self.messages = MessageLog(MOST if self.is_live else 0)
        self.until: Anchor | None = None  # the end of the page; None: the newest
        self.opened = ""
        self._between = frozenset(broker(it) if isinstance(it, int) else it for it in between)
        self._kind, self._fold, self._first = EVERYTHING, True, 0
        self._follows = True  # before a message was opened
        self._drawn: object = None
        self.shared = SharedTime.of(source)
        self.shared.join(self)
        self._zero = 0  # ms since 1970 at which the clock of the messages is 0
        if self.is_live:
            self._try(self._switch, True)
        elif hasattr(source, "diagram"):
            self.messages.add_moments(source)
            self._zero = source[0].state.at - source[0].at
        self.poll()

    # -- looking -------------------------------------------------------------------------

    def poll(self) -> bool:
        if not self.is_live:
            if hasattr(self.source, "events") and not self.messages.last:
                self.messages.add(self.source.events())
            self.draw()
            return False
        events = self.source.events(self.messages.last)
        with self.lock:
            self.messages.add(events)
            self.draw()
        return True

    def page(self) -> WirePage:
        return WirePage(
            self.messages,
            self.is_live,
            self._between,
            self._kind,
            self._fold,
            self.until,
            self.opened,
            self.width,
        )

    def draw(self) -> None:
        """Draw the page, if its picture differs from the one shown."""
        with self.lock:
            what = (
                *(len(self.messages.arrows), self.messages.forgotten, self._kind, self._fold),
                *(self.until, self.opened, self._first, self.is_traced, self.width),
            )
            if what != self._drawn:
                self._drawn = what
                page = self.page()
                self.about = self._about(page)
                self.show(picture(page, self._first), self._controls(page))

    def _about(self, page: WirePage) -> str:
        whom = " – ".join(sorted(self._between, reverse=True)) or f"{len(page.present)} parties"
        if not self.is_live:
            return f"{whom} · {len(page.every):,} lines"
        return f"{whom} · {ON if self.is_traced else OFF}"

    def _controls(self, page: WirePage) -> list[Control]:
        follows = self.until is None
        kinds = [(EVERYTHING, "every API"), *((it, it) for it in self.messages.kinds)]
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
        """Keep the page while new messages come; or follow them again."""
        page = self.page()
        if self.until is not None or not page.rows:
            self._go(None)
        else:
            last = page.rows[-1].arrow
            with self.lock:  # the other views go on
                self.until = last.at, last.number, True
                self.draw()

    def _go(self, until: Anchor | None) -> None:
        with self.lock:
            self.until = until
            self.draw()
        self.shared.tell(self, None if until is None else int(until[0]) + self._zero)

    def follow(self, at: int | None) -> None:
        """Show the messages up to this time, because another view shows it."""
        with self.lock:
            self.until = None if at is None else (at - self._zero, float("inf"), True)
            self.draw()

    # -- selection --------------------------------------------------------------------

    def api(self, name: str) -> None:
        """Only this one; "": all."""
        with self.lock:
            self._kind = str(name)
            self.draw()

    def fold(self) -> None:
        """Whether periodic messages are counted, or drawn one by one."""
        with self.lock:
            self._fold = not self._fold
            self.draw()

    def read(self, key: str) -> None:
        """Open a message by its arrow. The page stays the same."""
        with self.lock:
            page = self.page()
            arrow = page.find(str(key))
            if arrow is None:
                why = "that message is forgotten: too much was said since"
                raise ApiException(ErrorCode.invalid_request, why)
            if not self.opened:
                self._follows = self.until is None
            self.opened, self._first = arrow.key, 0
            if self.until is None and page.every:
                self.until = anchor(page.every[-1].arrow)
            self.until = self.page().showing(arrow)
            self.draw()

    def shut(self) -> None:
        """Close the message, and follow new ones again if the view did before."""
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
        self.shared.leave(self)
        wanted = _tracing.get(self.source, set()) if self.is_live else set()
        if self.number in wanted:
            wanted.discard(self.number)
            if not wanted:
                self._try(self.source.trace, False)
        super().close()
