"""A quorum on the page: cards, lanes, the time of the run, and what a click does."""

import pytest

from proof.quorum.simulated_quorum import SimulatedQuorum
from widgets import QuorumView


@pytest.fixture
def quorum():
    quorum = SimulatedQuorum(voters=3, seed=7)
    quorum.until(lambda: quorum.leader)
    quorum.run(0.5)
    return quorum


@pytest.fixture
def view(quorum):
    view = QuorumView(quorum)
    view.fit(960)
    yield view
    view.close()


def label(view, key):
    return view.picture[key].label


def acts(view, id):
    return [act.name for act in view.picture[f"node {id}"].acts]


def test_it_says_who_leads_and_what_is_committed(view, quorum):
    quorum.append("one")
    view.draw()
    assert view.about == f"epoch 1 · {quorum.leader} leads · committed up to offset 1"
    quorum.run(0.3)
    view.draw()
    assert view.about.endswith("committed up to offset 2")
    assert label(view, f"node {quorum.leader}").startswith(
        f"controller {quorum.leader}: leader, epoch 1 · leads it"
    )


def test_a_click_kills_and_starts_and_time_passes_when_told(view, quorum):
    leader, before = quorum.leader, quorum.now
    assert acts(view, leader) == ["kill", "pause", "isolate", "resign"]
    view.do("kill", str(leader))
    assert label(view, f"node {leader}").startswith(f"controller {leader}: down")
    assert acts(view, leader) == ["start"]
    assert quorum.now == before
    view.do("wait", "1")
    assert quorum.now == before + 1000
    quorum.until(lambda: quorum.leader)
    assert quorum.leader != leader
    view.do("start", str(leader))
    view.do("wait", "1")
    assert label(view, f"node {leader}").startswith(f"controller {leader}: follower")


def test_cut_off_and_healed(view, quorum):
    leader = quorum.leader
    view.do("isolate", str(leader))
    assert "heal" in {each["act"] for each in view.controls}
    view.do("wait", "1")
    assert "resigned" in {event.kind for event in quorum.film.events}
    view.do("heal")
    assert "heal" not in {each["act"] for each in view.controls}


def test_the_past_is_seen_and_not_acted_on(view, quorum):
    leader = quorum.leader
    view.do("kill", str(leader))
    view.do("wait", "1")
    view.do("back")
    while view.head > 100:
        view.do("back")
    assert label(view, f"node {leader}").startswith(f"controller {leader}: unattached")
    assert acts(view, leader) == []
    view.do("forward")
    assert view.head is not None
    view.do("live")
    assert acts(view, leader) == ["start"]
    view.do("seek", 0.5)
    assert view.head == round(quorum.now / 2)


def test_the_run_is_played_slowly_and_ends_at_now(view, quorum, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("widgets.quorum.view.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(view, "refresh", lambda: None)
    view.do("play")
    assert view.head == 0
    clock[0] = 1.0
    view.poll()
    assert 0 < view.head < 500
    clock[0] = 100.0
    view.poll()
    assert view.head is None


def test_a_vote_and_its_answer_are_lines_between_lanes(view, quorum):
    view.do("kill", str(quorum.leader))
    quorum.until(lambda: quorum.leader)
    view.draw()
    told = [shape.label for shape in view.picture.all() if shape.kind == "line" and shape.label]
    assert any("asks for the vote of" in it for it in told)
    assert any("votes for" in it for it in told)
