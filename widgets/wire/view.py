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

from engine.errors import invalid_request
from widgets import controls
from widgets.controls import Control
from widgets.scene import Scene
from widgets.shared_time import TimedView
from widgets.view import redraws
from widgets.wire.exchange import MOST, MessageLog, broker
from widgets.wire.page import EVERYTHING, Anchor, WirePage, anchor
from widgets.wire.scene import picture

Party = str | int  # a client.id, or a broker's number
ON = "the trace costs the brokers a little"
OFF = "the trace is off: nothing new is told"
_tracing: "WeakKeyDictionary[Any, set[int]]" = WeakKeyDictionary()  # the views that need the trace
_numbers = count(1)  # of views


class WireView(TimedView[WirePage]):
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
        self.join_time(source)
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

    def view_state(self) -> WirePage:
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

    def gist(self, page: WirePage) -> tuple[object, ...]:
        heard = len(self.messages.arrows), self.messages.forgotten
        return *heard, self._kind, self._fold, self.until, self.opened, self._first

    def painted(self, page: WirePage) -> Scene:
        return picture(page, self._first)

    def headline(self, page: WirePage) -> str:
        whom = " – ".join(sorted(self._between, reverse=True)) or f"{len(page.present)} parties"
        if not self.is_live:
            return f"{whom} · {len(page.every):,} lines"
        return f"{whom} · {ON if self.is_traced else OFF}"

    def offers(self, page: WirePage) -> list[Control]:
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
        self._go(self.view_state().turned(-0.5))

    def forward(self) -> None:
        self._go(self.view_state().turned(0.5))

    def seek(self, share: float) -> None:
        """To a place on the strip, from 0 to 1."""
        page = self.view_state()
        at = page.scale.time(float(share))
        last = page.chosen[-1].at if page.chosen else at
        self._go(None if at >= last else (at, float("inf"), True))

    def pause(self) -> None:
        """Keep the page while new messages come; or follow them again."""
        page = self.view_state()
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
        self.tell_time(None if until is None else int(until[0]) + self._zero)

    @redraws
    def follow(self, at: int | None) -> None:
        """Show the messages up to this time, because another view shows it."""
        self.until = None if at is None else (at - self._zero, float("inf"), True)

    # -- selection --------------------------------------------------------------------

    @redraws
    def api(self, name: str) -> None:
        """Only this one; "": all."""
        self._kind = str(name)

    @redraws
    def fold(self) -> None:
        """Whether periodic messages are counted, or drawn one by one."""
        self._fold = not self._fold

    @redraws
    def read(self, key: str) -> None:
        """Open a message by its arrow. The page stays the same."""
        page = self.view_state()
        arrow = page.find(str(key))
        if arrow is None:
            raise invalid_request("that message is forgotten: too much was said since")
        if not self.opened:
            self._follows = self.until is None
        self.opened, self._first = arrow.key, 0
        if self.until is None and page.every:
            self.until = anchor(page.every[-1].arrow)
        self.until = self.view_state().showing(arrow)

    @redraws
    def shut(self) -> None:
        """Close the message, and follow new ones again if the view did before."""
        self.opened = ""
        self.until = None if self._follows else self.until

    @redraws
    def turn(self, first: float) -> None:
        """To other fields of the message that is open."""
        self._first = max(int(first), 0)

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
