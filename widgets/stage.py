"""The widget that shows a scene, the base of every view.

    self.scene ───────────────── traits ────────────────> stage.js draws
    self.kill("2") <── {"act": "kill", "on": "2"} ─────── mouse, keys
    self.poll()    <── a thread, ten times a second <──── {"watch": "view-1", "on": true}

A view is a subclass of SceneWidget: it names its actions in ACTS, and shows a new scene when
something has changed. The traits contain the whole scene, so a widget that is scrolled out of view
and back draws itself from them.

The page tells the width that it has for the picture: {"width": 842}. The view lays its scene out
for that width (`width`), so that no text is drawn smaller than it is meant. A view that was not
told yet takes the width that another view was told last. In the dock (static/dock.js) the page
tells the height, too: ClusterView then leaves out what has no room (`height`).

`poll` runs in a thread of its own, not in the kernel's event loop: the loop is blocked while a cell
runs, which is when there is most to see, and a broker that hangs must not block the kernel. The
thread runs while a page shows the widget. It ends with the widget, or when `poll` returns False,
and starts again when the widget comes into view or the learner acts. In a browser tab, which has no
threads, the kernel's loop takes its place (background.py).

In a notebook an output keeps a still besides, for readers without a kernel (stills.py).

Invariant: only the methods in ACTS can be called from the page. An error, in an action or in
`poll`, is shown in the widget (`trouble`).
"""

import json
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar

import anywidget
import traitlets

from widgets import background, palette, stills
from widgets.controls import Control
from widgets.scene import Scene

INTERVAL = 0.1  # seconds between two polls
NONE: tuple[()] = ()
USUAL = 960  # px, while no page has told its width
NARROWEST, WIDEST = 280, 1100  # px: a narrower page scrolls, a wider one draws larger
NOTHING = '{"size":[100,20],"title":"","shapes":[]}'


def _as_sent(data: object, subshell: str | None) -> str | None:
    return subshell


class SceneWidget(anywidget.AnyWidget):
    _esm = palette.script()
    _css = palette.for_pages()

    ACTS: ClassVar[frozenset[str]] = frozenset()

    told_last: ClassVar[int] = USUAL  # px, by any page

    # JSON on one line: as lists, a saved notebook would have a line for each number.
    scene = traitlets.Unicode(NOTHING).tag(sync=True)
    controls = traitlets.List(traitlets.Dict()).tag(sync=True)
    name = traitlets.Unicode().tag(sync=True)  # the name, in bold above the picture
    about = traitlets.Unicode().tag(sync=True)  # and a few words more
    said = traitlets.Unicode().tag(sync=True)  # read aloud when it changes
    trouble = traitlets.Unicode().tag(sync=True)  # an error; empty: none
    docked = traitlets.Unicode().tag(sync=True)  # its id, if it is to stay in sight; else empty

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.picture: Scene | None = None  # what the trait `scene` was made from
        self.width = SceneWidget.told_last  # px that the page has for the picture
        self.height = 0  # px, if it has to fit into so many; 0: it may be as high as it needs
        self.interval = INTERVAL  # a view may poll more often while it waits for something
        self.lock = threading.RLock()  # polls and acts come from several threads
        self._watchers: set[str] = set()  # views on pages
        self._wake = threading.Event()
        self._looks = False  # polls, in a thread of its own
        self._closed = False
        self.on_msg(self._heard)
        # JupyterLab sends acts to a subshell of the kernel, so that they don't wait for a running
        # cell. ipykernel 7.4 would pass them to the shell in which this widget was made.
        self.comm._reply_subshell_for = _as_sent

    # -- for views -----------------------------------------------------------------------

    def show(self, picture: Scene, controls: list[Control] | None = None) -> None:
        """Show a scene. Only differences are sent to the browser."""
        with self.lock:
            self.picture = picture
            with self.hold_sync():
                self.scene = json.dumps(picture.rows(), separators=(",", ":"), ensure_ascii=False)
                if controls is not None and controls != self.controls:
                    self.controls = controls
                if picture.says and picture.says != self.said:
                    self.said = picture.says
        stills.changed(self)

    def poll(self) -> bool:
        """Called ten times a second while a page shows it; False: nothing more will come."""
        return False

    def draw(self) -> None:
        """Show the present state again: the page has another width now."""

    def fit(self, width: float, height: float = 0) -> None:
        """Lay the picture out for a page that has so many px for it."""
        wanted = min(max(int(width), NARROWEST), WIDEST), int(height)
        if not height:
            SceneWidget.told_last = wanted[0]
        with self.lock:
            if wanted != (self.width, self.height):
                self.width, self.height = wanted
                self.draw()

    def dock(self) -> None:
        """Keep the picture in sight, beside the cells of the notebook, where the page has room."""
        self.docked = self.model_id or ""

    def undock(self) -> None:
        """Show the picture below its cell again."""
        self.docked = ""

    @property
    def visible(self) -> bool:
        """Whether a page shows it at the moment."""
        return bool(self._watchers)

    @property
    def shown_id(self) -> str | None:
        """The id of the widget that a notebook shows for this one; None: it is closed."""
        comm = self.comm  # another thread may close it at any moment
        return None if comm is None else str(comm.comm_id)

    def svg(self) -> str:
        """The current picture, as SVG without a kernel."""
        assert self.picture is not None, f"{type(self).__name__} has shown nothing yet"
        return self.picture.svg()

    def still(self) -> dict[str, str]:
        """The current picture as a notebook keeps it, by MIME type."""
        kind = type(self).__name__
        if self.picture is None:
            return {"text/plain": kind}
        words = ": ".join(filter(None, (kind, self.picture.title)))
        return {"text/plain": words, "image/svg+xml": self.picture.still()}

    def _repr_mimebundle_(self, **kinds: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        made = super()._repr_mimebundle_(**kinds)
        assert made is not None, "every widget has a view"
        return made[0] | self.still(), made[1]

    def do(self, act: str, *on: Any) -> None:
        """Do an act of the page, by name. An error is shown in the widget."""
        if act not in self.ACTS:
            self.trouble = f"There is no {act!r} here, only {', '.join(sorted(self.ACTS))}."
            return
        self._try(self.act(act), *on)

    def act(self, name: str) -> Callable[..., object]:
        """What an act of the page does: the method of this name."""
        method: Callable[..., object] = getattr(self, name)
        return method

    def later(self, work: Callable[..., object], *facts: Any) -> None:
        """Do something slow, such as a restart, in a thread of its own."""
        background.once(self._try, work, *facts)

    def refresh(self) -> None:
        """Poll now, and continue to poll while a page shows it."""
        with self.lock:
            if not self._looks and self._goes_on():
                self._looks = True
                name = f"refresh {type(self).__name__}"
                background.keep(self._keep_looking(), self._wake, name)
        self._wake.set()

    def wake(self) -> None:
        """Poll now, if a page shows it."""
        self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._wake.set()
        super().close()

    # -- messages of the page --------------------------------------------------------------

    def _heard(self, _: object, content: dict[str, Any], buffers: object) -> None:
        if "watch" in content:
            self._watched(str(content["watch"]), bool(content["on"]))
        elif "width" in content:
            self.fit(float(content["width"]), float(content.get("height", 0)))
        elif "dock" in content:
            self.dock() if content["dock"] else self.undock()
        elif "act" in content:
            self.do(str(content["act"]), *([content["on"]] if "on" in content else NONE))

    def _try(self, work: Callable[..., object], *facts: Any) -> None:
        self.trouble = ""  # before the act: what `later` has started may fail at once
        try:
            work(*facts)
        except Exception as error:  # told where the learner looks
            self.trouble = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
        self.refresh()

    def _watched(self, view: str, on: bool) -> None:
        with self.lock:
            (self._watchers.add if on else self._watchers.discard)(view)
        self.refresh()

    def _keep_looking(self) -> background.Looks:
        more = True
        while more:
            began = time.monotonic()
            self._wake.clear()
            try:
                more = self.poll()
            except Exception as error:  # told where the learner looks
                more, self.trouble = False, f"The picture stands still: {error!r}"
            if more:
                yield max(self.interval - (time.monotonic() - began), 0)
            with self.lock:
                more = self._goes_on() and (more or self._wake.is_set())
                if not more:
                    self._looks = False

    def _goes_on(self) -> bool:
        with self.lock:
            return bool(self._watchers) and not self._closed
