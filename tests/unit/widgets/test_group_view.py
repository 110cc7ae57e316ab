"""Every button of GroupView is pressed; the processes behind them are test_group_crew's matter."""

from dataclasses import replace

import pytest

from engine.cluster.recording import Recording
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from tests.interop.watch import until
from tests.unit.widgets import cluster as told_of
from tests.unit.widgets.cluster import START, partition, state, topic
from tests.unit.widgets.test_group_history import joins, stable
from tests.unit.widgets.test_group_scene import group, story
from widgets import GroupView, compare
from widgets.playback import TIME


class Crew:
    """What a GroupView asks of its processes, written down."""

    def __init__(self, bootstrap, group, settings):
        self.called, self.fates = [(bootstrap, group, dict(settings))], {}
        self.why = "the broker said no"

    def subscribe(self, topics):
        self.called.append(("subscribe", *topics))

    def add(self, strategies, taken):
        name = f"c{len(self.fates) + 1}"
        self.called.append(("add", strategies))
        self.fates[name] = "reading"

    def stop(self, name):
        self._do("stopped", name)

    def kill(self, name):
        self._do("killed", name)

    def freeze(self, name):
        self._do("frozen", name)

    def thaw(self, name):
        self._do("reading", name)

    def statuses(self):
        return dict(self.fates)

    def end_reason(self, name):
        return self.why

    def close(self):
        self.called.append("close")

    def _do(self, fate, name):
        if name not in self.fates:
            raise ApiException(ErrorCode.unknown_member_id, f"{name} was not started here")
        self.called.append((fate, name))
        self.fates[name] = fate


class Cluster(told_of.Cluster):
    """One with an address, and an admin that adds partitions."""

    bootstrap = "127.0.0.1:9092"

    @property
    def admin(self):
        return self

    def create_partitions(self, wishes):
        (wish,) = wishes
        self.called.append(("partitions", wish.topic, wish.new_total_count))
        return {wish.topic: self}

    def result(self):
        self.now = replace(self.now, partitions={**self.now.partitions, **topic("orders", 5)})

    def tell(self, events):
        numbers = range(len(self.happened) + 1, len(self.happened) + 1 + len(events))
        pairs = zip(events, numbers, strict=True)
        self.happened += [it._replace(number=number) for it, number in pairs]


@pytest.fixture
def cluster():
    return Cluster(partitions={**topic("orders", 4), **topic("refunds", 1), **topic("__own", 1)})


@pytest.fixture
def view(cluster, monkeypatch):
    monkeypatch.setattr("widgets.group.view.ConsumerProcesses", Crew)
    view = GroupView(cluster, group="g", topic="orders", config={"session.timeout.ms": "7000"})
    yield view
    view.close()


def press(view, act, *on):
    """As the page does."""
    view._heard(view, {"act": act} | ({"on": on[0]} if on else {}), [])


def buttons(view):
    return {control["act"]: control for control in view.controls}


def live(cluster, view, at=3000, **facts):
    """The cluster has come so far."""
    told = facts or {"c1": "01", "c2": "23"}
    groups = {"g": group({"orders-0": 10, "orders-1": 4}, **told)}
    cluster.now = replace(cluster.now, at=START + at, groups=groups)
    view.poll()


def test_a_consumer_is_added_with_the_strategy_that_was_chosen(view):
    assert view.processes is None  # nothing runs before it is wanted
    press(view, "add")
    press(view, "strategy", "sticky")
    press(view, "add")
    assert view.trouble == ""
    assert view.processes.called == [
        ("127.0.0.1:9092", "g", {"session.timeout.ms": "7000"}),
        ("subscribe", "orders"),
        ("add", "range"),
        ("add", "sticky"),
    ]
    assert buttons(view)["strategy"]["value"] == "sticky"


def test_another_strategy_than_the_groups_is_offered_beside_it(view, cluster):
    live(cluster, view)
    press(view, "strategy", "cooperative-sticky")
    press(view, "add")
    assert view.processes.called[-1] == ("add", "cooperative-sticky,range")


def test_an_unknown_strategy_is_reported(view):
    press(view, "strategy", "stiky")
    assert "did you mean sticky?" in view.trouble


@pytest.mark.parametrize(
    ("act", "fate"),
    [("stop", "stopped"), ("kill", "killed"), ("freeze", "frozen"), ("thaw", "reading")],
)
def test_a_consumer_is_disturbed_and_marked(view, cluster, act, fate):
    press(view, "add")
    press(view, act, "c1")
    assert view.trouble == ""
    assert view.processes.called[-1] == (fate, "c1")
    (mark,) = view.marks
    assert (mark.lane, mark.deed) == ("c1", act)


def test_what_was_not_started_here_is_left_alone(view):
    press(view, "kill", "c1")
    assert view.trouble == "c1 was not started here: add consumers, then kill those"
    press(view, "add")
    press(view, "kill", "rdkafka")
    assert view.trouble == "rdkafka was not started here"
    assert view.marks == []


def test_partitions_are_added_one_by_one(view, cluster):
    press(view, "add_partitions")
    until(lambda: TopicPartition("orders", 4) in cluster.now.partitions)
    assert cluster.called == [("partitions", "orders", 5)]


def test_topics_that_a_lab_made_for_other_sections_are_not_offered(cluster, view):
    more = topic("orders-2", 1) | topic("bills", 1) | topic("refunds-east", 1)
    groups = {"other": group({"bills-0": 3}), "g": group({"refunds-0": 1})}
    cluster.now = replace(cluster.now, partitions=cluster.now.partitions | more, groups=groups)
    view.poll()
    offered = [name for name, _ in buttons(view)["subscribe"]["options"]]
    assert offered == ["", "refunds", "refunds-east"]


def test_more_is_subscribed_to(view):
    press(view, "add")
    assert buttons(view)["subscribe"]["options"] == [["", "..."], ["refunds", "refunds"]]
    press(view, "subscribe", "refunds")
    assert view.processes.called[-1] == ("subscribe", "orders", "refunds")
    assert "subscribe" not in buttons(view)  # there is nothing more
    before = list(view.processes.called)
    press(view, "subscribe", "refunds")
    press(view, "subscribe", "")
    assert view.processes.called == before
    press(view, "subscribe", "taxes")
    assert view.trouble.startswith("there is no topic taxes; there are ")


def test_how_much_of_the_past_is_seen(view, cluster):
    cluster.tell(story())
    live(cluster, view, at=90_000)
    assert "thread orders-0" in view.picture.by_key
    assert "round 1700000002000" not in view.picture.by_key
    press(view, "span", "0")
    assert "round 1700000002000" in view.picture.by_key
    assert buttons(view)["span"]["value"] == "0"


def test_nothing_else_can_be_called_from_the_page(view):
    press(view, "close")
    assert "There is no 'close' here" in view.trouble


def test_the_picture_follows_the_group(view, cluster):
    press(view, "add")
    assert view.picture["consumer c1"].label == "consumer c1: joining, has nothing"
    cluster.tell(story())
    live(cluster, view)
    assert view.picture["consumer c2"].label == "consumer c2: reading, has orders-2, orders-3"
    assert view.about == "g · lag 26"
    assert view.picture["generation"].content == "generation 2"
    assert view.said.startswith("Generation 2 (range), because c2 joins")


def test_a_group_at_rest_is_not_drawn_again(view, cluster):
    cluster.tell(story())
    live(cluster, view)
    drawn = view.picture
    view.draw()
    assert view.picture is drawn


def test_one_that_gives_up_is_reported_once(view, cluster):
    press(view, "add")
    view.processes.fates["c1"] = "failed"
    view.poll()
    assert view.trouble == "c1 gave up: the broker said no"
    view.trouble = ""
    view.poll()
    assert view.trouble == ""


def test_the_only_topic_need_not_be_named(monkeypatch):
    monkeypatch.setattr("widgets.group.view.ConsumerProcesses", Crew)
    view = GroupView(Cluster(partitions=topic("orders", 2)), group="g")
    press(view, "add")
    assert ("subscribe", "orders") in view.processes.called
    view.close()


def test_of_several_topics_one_is_to_be_named(cluster):
    view = GroupView(cluster, group="g")
    press(view, "add")
    assert view.trouble == "which topic? GroupView(cluster, group='g', topic=...)"
    view.close()


def test_the_crew_ends_with_the_view_and_with_the_cluster(view, cluster):
    press(view, "add")
    cluster.stop()
    view.poll()
    assert not view.poll()
    assert view.processes.called[-1] == "close"


# -- a run that is over, and figures ------------------------------------------------------------


def film(protocol="range", pause=500):
    """A second consumer comes after two seconds."""
    first = state(topic("orders", 4), groups={"g": group({}, c1="0123")})
    later = group({f"orders-{it}": 10 for it in range(4)}, c1="01", c2="23")
    ends = (20, 20, 20)
    grown = first.partitions | {TopicPartition("orders", 0): partition(ends=ends)}
    events = [
        *joins(0, "c1"),
        *stable(10, 1, protocol, c1="0123"),
        *joins(2000, "c2"),
        *stable(2000 + pause, 2, protocol, c1="01", c2="23"),
    ]
    states = [
        replace(first, at=START + 10),
        replace(first, at=START + 3000, groups={"g": later}, partitions=grown),
        replace(first, at=START + 9000, groups={"g": later}, partitions=grown),
    ]
    return Recording(states, [it._replace(number=n) for n, it in enumerate(events, 1)])


def test_a_recording_is_shown_without_a_cluster():
    view = GroupView(film(), group="g")
    assert set(buttons(view)) == {"span", *TIME - {"seek", "goto"}}
    assert {act.name for shape in view.picture.all() for act in shape.acts} <= TIME
    assert "2 of 4 partitions move" in view.picture["round 1700000002000"].label
    assert view.picture["lag orders-0"].label == "orders-0: c1 has 10 records still to read"
    assert not view.poll()
    for act, *on in (["add"], ["add_partitions"], ["subscribe", "refunds"]):
        press(view, act, *on)
        assert view.trouble.startswith("this run is over")
    view.close()


def bars(figure):
    bar = figure.data[0]
    pairs = zip(bar.y, bar.base, bar.x, bar.text, strict=True)
    return [(lane, round(base, 2), round(base + x, 2), text) for lane, base, x, text in pairs]


def test_the_figure_has_lanes_with_gaps_and_what_they_cost():
    figure = GroupView(film(), group="g").figure()
    assert bars(figure) == [
        ("c1", 0.01, 2.0, "0 1 2 3"),
        ("c1", 2.5, 9.0, "0 1"),
        ("c2", 2.5, 9.0, "2 3"),
    ]
    texts = [it.text for it in figure.layout.annotations]
    assert "g (range): 2 rebalances in 0.51 s, 2 partitions moved" in texts
    assert "2 moved<br>0.50 s" in texts
    spans = [(round(it.x0, 2), round(it.x1, 2)) for it in figure.layout.shapes]
    assert spans == [(0, 0.01), (2, 2.5)]
    assert list(figure.data[-1].y) == [40, 10, 10]


def test_who_works_cooperatively_reads_on_meanwhile():
    kept = [
        it
        for it in bars(GroupView(film("cooperative-sticky"), group="g").figure())
        if it[0] == "c1"
    ]
    assert [it[1:] for it in kept] == [(0.01, 2.0, "0 1 2 3"), (2.0, 2.5, "0 1"), (2.5, 9.0, "0 1")]


def test_two_strategies_are_set_on_one_clock():
    slow, fast = film(pause=1500), GroupView(film("cooperative-sticky"), group="g")
    figure = compare(slow, fast)
    titles = [it.text for it in figure.layout.annotations[:2]]
    assert titles == [
        "g (range): 2 rebalances in 1.51 s, 2 partitions moved",
        "g (cooperative-sticky): 2 rebalances in 0.51 s, 2 partitions moved",
    ]
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]  # one above the other
    assert {figure.layout[it].range for it in ("xaxis", "xaxis2", "xaxis3")} == {(0, 9.0)}


def test_of_a_recording_with_several_groups_one_is_to_be_named():
    whole = state(groups={"a": group({}), "b": group({})})
    with pytest.raises(ValueError, match="which group"):
        compare(Recording([whole], []), film())


def test_a_notebook_stays_small(view, cluster):
    cluster.tell(story())
    live(cluster, view)
    assert len(view.scene.encode()) + len(str(view.controls)) < 10_000
