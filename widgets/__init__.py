"""Views of a cluster: from engine state to a plain snapshot to a picture.

    engine state ──> a view, a pure function ──> Scene ──> SceneWidget: drawn in the browser
                                                  └──────> scene.svg(): the same as a file

Every picture is drawn from the state and the events that brokers publish. The browser draws, and
reports clicks; it decides nothing.

    from widgets import ClusterView

    ClusterView(cluster)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from widgets.accumulator.view import AccumulatorView
    from widgets.board.view import OperatorBoard
    from widgets.cluster_view import ClusterView
    from widgets.crash_dial import CrashDial
    from widgets.estimate.view import Estimate
    from widgets.exercise import Check, Trial
    from widgets.group.ack_lanes import AckLanes, AckRun
    from widgets.group.chart import compare
    from widgets.group.view import GroupView
    from widgets.ideas.view import IdeaMap
    from widgets.ledger.ledger import Ledger
    from widgets.log.hex_view import HexView
    from widgets.log.view import SegmentView
    from widgets.measure.latency_view import LatencyView
    from widgets.measure.page_map import PageMap
    from widgets.measure.path_of_a_byte import PathOfAByte
    from widgets.measure.ratio_bars import RatioBars
    from widgets.measure.throttle_gauge import ThrottleGauge
    from widgets.metadata_log.view import MetadataLogView
    from widgets.oracle.view import Oracle
    from widgets.progress.view import Progress
    from widgets.question.quiz import Predict, Question, Quiz
    from widgets.quorum.view import QuorumView
    from widgets.replica.view import ReplicaView
    from widgets.stream.view import StreamView
    from widgets.wire.view import WireView
    from widgets.znodes.view import ZooKeeperTree

__all__ = [
    "AccumulatorView",
    "AckLanes",
    "AckRun",
    "Check",
    "ClusterView",
    "CrashDial",
    "Estimate",
    "GroupView",
    "HexView",
    "IdeaMap",
    "LatencyView",
    "Ledger",
    "MetadataLogView",
    "OperatorBoard",
    "Oracle",
    "PageMap",
    "PathOfAByte",
    "Predict",
    "Progress",
    "Question",
    "Quiz",
    "QuorumView",
    "RatioBars",
    "ReplicaView",
    "SegmentView",
    "StreamView",
    "ThrottleGauge",
    "Trial",
    "WireView",
    "ZooKeeperTree",
    "compare",
]

_HOME = {
    "AccumulatorView": "widgets.accumulator.view",
    "AckLanes": "widgets.group.ack_lanes",
    "AckRun": "widgets.group.ack_lanes",
    "Check": "widgets.exercise",
    "ClusterView": "widgets.cluster_view",
    "CrashDial": "widgets.crash_dial",
    "Estimate": "widgets.estimate.view",
    "GroupView": "widgets.group.view",
    "HexView": "widgets.log.hex_view",
    "IdeaMap": "widgets.ideas.view",
    "LatencyView": "widgets.measure.latency_view",
    "Ledger": "widgets.ledger.ledger",
    "MetadataLogView": "widgets.metadata_log.view",
    "OperatorBoard": "widgets.board.view",
    "Oracle": "widgets.oracle.view",
    "PageMap": "widgets.measure.page_map",
    "PathOfAByte": "widgets.measure.path_of_a_byte",
    "Predict": "widgets.question.quiz",
    "Progress": "widgets.progress.view",
    "Question": "widgets.question.quiz",
    "Quiz": "widgets.question.quiz",
    "QuorumView": "widgets.quorum.view",
    "RatioBars": "widgets.measure.ratio_bars",
    "ReplicaView": "widgets.replica.view",
    "SegmentView": "widgets.log.view",
    "StreamView": "widgets.stream.view",
    "ThrottleGauge": "widgets.measure.throttle_gauge",
    "Trial": "widgets.exercise",
    "WireView": "widgets.wire.view",
    "ZooKeeperTree": "widgets.znodes.view",
    "compare": "widgets.group.chart",
}


def __getattr__(name: str) -> Any:
    """A view is imported when it is used first: a picture alone needs no ipywidgets."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
