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
    from widgets.accumulator.view import AccumulatorView as AccumulatorView
    from widgets.board.view import OperatorBoard as OperatorBoard
    from widgets.cluster_view import ClusterView as ClusterView
    from widgets.crash_dial import CrashDial as CrashDial
    from widgets.estimate.view import Estimate as Estimate
    from widgets.exercise import Check as Check
    from widgets.exercise import Trial as Trial
    from widgets.group.ack_lanes import AckLanes as AckLanes
    from widgets.group.ack_lanes import AckRun as AckRun
    from widgets.group.chart import compare as compare
    from widgets.group.view import GroupView as GroupView
    from widgets.ideas.view import IdeaMap as IdeaMap
    from widgets.ledger.ledger import Ledger as Ledger
    from widgets.log.hex_view import HexView as HexView
    from widgets.log.view import SegmentView as SegmentView
    from widgets.measure.latency_view import LatencyView as LatencyView
    from widgets.measure.page_map import PageMap as PageMap
    from widgets.measure.path_of_a_byte import PathOfAByte as PathOfAByte
    from widgets.measure.ratio_bars import RatioBars as RatioBars
    from widgets.measure.throttle_gauge import ThrottleGauge as ThrottleGauge
    from widgets.metadata_log.view import MetadataLogView as MetadataLogView
    from widgets.oracle.view import Oracle as Oracle
    from widgets.progress.view import Progress as Progress
    from widgets.question.quiz import Predict as Predict
    from widgets.question.quiz import Question as Question
    from widgets.question.quiz import Quiz as Quiz
    from widgets.quorum.view import QuorumView as QuorumView
    from widgets.replica.view import ReplicaView as ReplicaView
    from widgets.stream.view import StreamView as StreamView
    from widgets.wire.view import WireView as WireView
    from widgets.znodes.view import ZooKeeperTree as ZooKeeperTree

_HOME = {
    "widgets.accumulator.view": "AccumulatorView",
    "widgets.board.view": "OperatorBoard",
    "widgets.cluster_view": "ClusterView",
    "widgets.crash_dial": "CrashDial",
    "widgets.estimate.view": "Estimate",
    "widgets.exercise": "Check Trial",
    "widgets.group.ack_lanes": "AckLanes AckRun",
    "widgets.group.chart": "compare",
    "widgets.group.view": "GroupView",
    "widgets.ideas.view": "IdeaMap",
    "widgets.ledger.ledger": "Ledger",
    "widgets.log.hex_view": "HexView",
    "widgets.log.view": "SegmentView",
    "widgets.measure.latency_view": "LatencyView",
    "widgets.measure.page_map": "PageMap",
    "widgets.measure.path_of_a_byte": "PathOfAByte",
    "widgets.measure.ratio_bars": "RatioBars",
    "widgets.measure.throttle_gauge": "ThrottleGauge",
    "widgets.metadata_log.view": "MetadataLogView",
    "widgets.oracle.view": "Oracle",
    "widgets.progress.view": "Progress",
    "widgets.question.quiz": "Predict Question Quiz",
    "widgets.quorum.view": "QuorumView",
    "widgets.replica.view": "ReplicaView",
    "widgets.stream.view": "StreamView",
    "widgets.wire.view": "WireView",
    "widgets.znodes.view": "ZooKeeperTree",
}
_MODULES = {name: module for module, names in _HOME.items() for name in names.split()}
__all__ = [*_MODULES]  # noqa: PLE0604 - as the table says


def __getattr__(name: str) -> Any:
    """A view is imported when it is used first: a picture alone needs no ipywidgets."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
