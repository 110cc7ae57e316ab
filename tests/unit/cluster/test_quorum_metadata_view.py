"""What is asked of the controllers of a cluster: the newest answer counts, and late ones come."""

from types import SimpleNamespace

import pytest

from engine.cluster.kraft import quorum_metadata_view
from engine.cluster.kraft.quorum_metadata_view import QuorumMetadataView
from engine.cluster.state import Status
from engine.errors import ApiException

UP, DOWN = SimpleNamespace(status=Status.UP), SimpleNamespace(status=Status.DOWN)


class FakeObserver:
    """`answers`: of each time that it is asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def ask_all(self, nodes, request):
        self.asked.append(nodes)
        return self.answers.pop(0) if self.answers else []


def test_the_newest_answer_counts():
    old, new = ({"offset": n, "topics": [f"t{n}"]} for n in (7, 9))
    view = QuorumMetadataView(FakeObserver([old, new]), lambda: {101: UP, 102: UP})
    assert view.topics() == ["t9"]


def test_controllers_that_are_busy_are_asked_again():
    observer = FakeObserver([], [], [{"offset": 1, "topics": ["a"]}])
    assert QuorumMetadataView(observer, lambda: {101: UP, 102: DOWN}).topics() == ["a"]
    assert observer.asked == [[101]] * 3


def test_nobody_is_waited_for_who_does_not_run():
    observer = FakeObserver()
    with pytest.raises(ApiException, match="no controller of this cluster answers"):
        QuorumMetadataView(observer, lambda: {101: DOWN}).topics()
    assert observer.asked == [[]]


def test_silence_is_an_error_in_the_end(monkeypatch):
    monkeypatch.setattr(quorum_metadata_view, "ANSWER_WAIT_S", 0.1)
    observer = FakeObserver()
    with pytest.raises(ApiException, match="no controller of this cluster answers"):
        QuorumMetadataView(observer, lambda: {101: UP}).topics()
    assert len(observer.asked) > 1
