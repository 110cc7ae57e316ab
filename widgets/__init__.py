"""What a cluster looks like: engine state, to a plain snapshot, to a picture.

    engine state ──> a view, a pure function ──> Scene ──> Stage: drawn and moved in the browser
                                                  └──────> scene.svg(): the same, standing alone

Every picture is drawn from what brokers publish (their state and their events), never from a
guess about it: what cannot be seen is not done. The browser draws and reports what was clicked;
it decides nothing.

    from widgets import ClusterView

    ClusterView(cluster)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widgets.check import Check
    from widgets.cluster_view import ClusterView
    from widgets.group.chart import compare
    from widgets.group.view import GroupView
    from widgets.ledger.ledger import Ledger
    from widgets.log.hex_view import HexView
    from widgets.log.view import SegmentView
    from widgets.predict import Predict
    from widgets.quiz import Question, Quiz
    from widgets.replica.view import ReplicaView
    from widgets.stream.view import StreamView
    from widgets.trial import Trial
    from widgets.wire.view import WireView
    from widgets.znodes.view import ZooKeeperTree

__all__ = [
    "Check",
    "ClusterView",
    "GroupView",
    "HexView",
    "Ledger",
    "Predict",
    "Question",
    "Quiz",
    "ReplicaView",
    "SegmentView",
    "StreamView",
    "Trial",
    "WireView",
    "ZooKeeperTree",
    "compare",
]

_HOME = {
    "Check": "widgets.check",
    "ClusterView": "widgets.cluster_view",
    "GroupView": "widgets.group.view",
    "HexView": "widgets.log.hex_view",
    "Ledger": "widgets.ledger.ledger",
    "Predict": "widgets.predict",
    "Question": "widgets.quiz",
    "Quiz": "widgets.quiz",
    "ReplicaView": "widgets.replica.view",
    "SegmentView": "widgets.log.view",
    "StreamView": "widgets.stream.view",
    "Trial": "widgets.trial",
    "WireView": "widgets.wire.view",
    "ZooKeeperTree": "widgets.znodes.view",
    "compare": "widgets.group.chart",
}


def __getattr__(name: str) -> Any:
    """A view is fetched when it is asked for: a picture alone needs no ipywidgets."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
