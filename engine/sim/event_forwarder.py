"""The events of a simulated node: the world keeps all of them."""

from engine.broker.events import Ring
from engine.model import Event
from engine.storage.log import Emit


class EventForwarder(Ring):
    """A ring of events that also passes each of them on."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(0)
        self._emit = emit

    def append(self, event: Event) -> None:
        self._emit(event)
