"""The base of a view: a picture is a function of a state, and the state is plain data.

    the source, the head, ──> view_state() ──┬──> gist       drawn again when this differs
    the learner's choice                     ├──> headline   a few words above the picture
                                             ├──> painted    the Scene: look, plan, draw
                                             └──> offers     the buttons above it

A state has all that the picture needs: what is known at the moment that is shown, what the learner
has chosen, and the width of the page. So a picture can be drawn in a test, or for a file, without
the widget.

    class AccumulatorView(View[AccumulatorViewState]):
        def painted(self, state): return picture(state)

        @redraws
        def page(self, number): self._page = int(number)      an act; the picture follows

Invariant: two states with the same gist and the same buttons have the same picture.
"""

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from widgets.controls import Control
from widgets.scene import Scene
from widgets.stage import SceneWidget

State = TypeVar("State")
Acting = TypeVar("Acting", bound=SceneWidget)
Arguments = ParamSpec("Arguments")


def redraws(
    act: Callable[Concatenate[Acting, Arguments], None],
) -> Callable[Concatenate[Acting, Arguments], None]:
    """Make an act of a method: it runs under the lock of its view, which is drawn afterwards."""

    @wraps(act)
    def done(view: Acting, /, *given: Arguments.args, **named: Arguments.kwargs) -> None:
        with view.lock:
            act(view, *given, **named)
            view.draw()

    return done


class View(SceneWidget, Generic[State]):
    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._drawn: object = None  # what the picture depends on; None: draw it in any case

    @abstractmethod
    def view_state(self) -> State:
        """All that the picture of now depends on."""

    @abstractmethod
    def painted(self, state: State) -> Scene: ...

    def gist(self, state: State) -> tuple[object, ...]:
        """What the picture and its headline depend on, besides the buttons and the width."""
        return (state,)

    def headline(self, state: State) -> str:
        """A few words above the picture."""
        return ""

    def notice(self) -> str:
        """What stands above the picture in place of the headline; "": nothing."""
        return ""

    def offers(self, state: State) -> list[Control]:
        """The buttons and fields above the picture."""
        return []

    def draw(self) -> None:
        """Draw what is shown, if it differs from the picture on the page."""
        with self.lock:
            state = self.view_state()
            offered = self.offers(state)
            what = (self.width, self.height, self.notice(), offered, *self.gist(state))
            if what != self._drawn:
                self._drawn = what
                self.about = self.notice() or self.headline(state)
                self.show(self.painted(state), offered)
