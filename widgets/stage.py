"""Where a scene is shown: one small widget, the same for every view.

    self.scene ───────────────── traits ────────────────> stage.js draws
    self.kill("2") <── {"act": "kill", "on": "2"} ─────── mouse, keys
    self.look()    <── a thread, ten times a second <──── {"watch": "view-1", "on": true}

A view derives from Stage, names its acts in ACTS, and shows a new scene when something changed.
The traits hold all that is shown, so what is scrolled out and in again draws itself from them.

The refresh has a thread of its own, and not the kernel's event loop: that one stands still while
a cell runs, which is when there is most to see, and a look at a hanging broker must not hold up
the kernel. It runs only while a page shows the widget, ends with it or when `look` has nothing
more to wait for, and begins again when the widget comes into view. An act of the learner wakes it.

Invariant: nothing but the methods in ACTS can be called from the page. What goes wrong, in an act
or in a look, is told on the stage (`trouble`).
"""

import json
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

import anywidget
import traitlets

from widgets import palette
from widgets.controls import Control
from widgets.scene import Scene

INTERVAL = 0.1  # seconds from one look to the next
NONE: tuple[()] = ()
NOTHING = '{"size":[100,20],"title":"","shapes":[]}'


def _as_sent(data: object, subshell: str | None) -> str | None:
    return subshell


class Stage(anywidget.AnyWidget):
    _esm = palette.read("stage.js")
    _css = palette.for_pages()

    ACTS: ClassVar[frozenset[str]] = frozenset()

    # JSON on one line: as lists, a saved notebook would have a line for each number.
    scene = traitlets.Unicode(NOTHING).tag(sync=True)
    controls = traitlets.List(traitlets.Dict()).tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)  # what it is, in bold above the picture
    about = traitlets.Unicode().tag(sync=True)  # and a few words more
    said = traitlets.Unicode().tag(sync=True)  # read aloud when it changes
    trouble = traitlets.Unicode().tag(sync=True)  # what went wrong; empty: nothing

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.picture: Scene | None = None  # what the trait `scene` was made from
        self.interval = INTERVAL  # a view may look more often while it waits for something
        self.lock = threading.RLock()  # looks and acts come from several threads
        self._watchers: set[str] = set()  # views on pages
        self._wake = threading.Event()
        self._refresh: threading.Thread | None = None
        self._closed = False
        self.on_msg(self._heard)
        # JupyterLab sends acts to a subshell of the kernel, so that they needn't wait for a cell
        # that runs. ipykernel 7.4 would hand them back to the shell in which we were made.
        self.comm._reply_subshell_for = _as_sent

    # -- for views -----------------------------------------------------------------------

    def show(self, picture: Scene, controls: list[Control] | None = None) -> None:
        """Only what differs is sent."""
        with self.lock:
            self.picture = picture
            with self.hold_sync():
                self.scene = json.dumps(picture.rows(), separators=(",", ":"), ensure_ascii=False)
                if controls is not None and controls != self.controls:
                    self.controls = controls
                if picture.says and picture.says != self.said:
                    self.said = picture.says

    def look(self) -> bool:
        """Called ten times a second while somebody watches; False: nothing more will happen."""
        return False

    def svg(self) -> str:
        """What is shown now, as a picture that needs no kernel."""
        assert self.picture is not None, f"{type(self).__name__} has shown nothing yet"
        return self.picture.svg()

    def do(self, act: str, *on: Any) -> None:
        """What the page asks for, by name. An error is shown, for nobody else would hear of it."""
        if act not in self.ACTS:
            self.trouble = f"There is no {act!r} here, only {', '.join(sorted(self.ACTS))}."
            return
        self._try(getattr(self, act), *on)

    def later(self, work: Callable[..., object], *facts: Any) -> None:
        """Something slow, a restart say: in a thread of its own, so that nobody waits for it."""
        threading.Thread(target=self._try, args=(work, *facts), daemon=True).start()

    def refresh(self) -> None:
        """Look now, and go on looking, if somebody watches."""
        with self.lock:
            if self._refresh is None and self._goes_on():
                self._refresh = threading.Thread(
                    target=self._keep_looking, name=f"refresh {type(self).__name__}", daemon=True
                )
                self._refresh.start()
        self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        super().close()

    # -- what the page says --------------------------------------------------------------

    def _heard(self, _: object, content: dict[str, Any], buffers: object) -> None:
        if "watch" in content:
            self._watched(str(content["watch"]), bool(content["on"]))
        elif "act" in content:
            self.do(str(content["act"]), *([content["on"]] if "on" in content else NONE))

    def _try(self, work: Callable[..., object], *facts: Any) -> None:
        self.trouble = ""  # before, not after: what is done later may have failed already
        try:
            work(*facts)
        except Exception as error:  # told where the learner looks
            self.trouble = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
        self.refresh()

    def _watched(self, view: str, on: bool) -> None:
        with self.lock:
            (self._watchers.add if on else self._watchers.discard)(view)
        self.refresh()

    def _keep_looking(self) -> None:
        more = True
        while more:
            began = time.monotonic()
            self._wake.clear()
            try:
                more = self.look()
            except Exception as error:  # told where the learner looks
                more, self.trouble = False, f"The picture stands still: {error!r}"
            if more:
                self._wake.wait(max(self.interval - (time.monotonic() - began), 0))
            with self.lock:
                more = self._goes_on() and (more or self._wake.is_set())
                if not more:
                    self._refresh = None

    def _goes_on(self) -> bool:
        with self.lock:
            return bool(self._watchers) and not self._closed
