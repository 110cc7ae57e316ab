"""The tree on a stage: laid out so that nothing overlaps, and every act pressed."""

import re

import pytest

from engine.cluster.recording import Recording
from engine.cluster.znode_changes import ChangeKind
from tests.unit.widgets.cluster import START, state
from tests.unit.widgets.test_znodes_history import story, znode
from widgets.znodes import view
from widgets.znodes.layout import NEWS, ROWS, ROWS_OPEN
from widgets.znodes.view import HOW, ZooKeeperTree

PAUSE = START + 3900  # between what is made and what dies


class Told:
    """A cluster whose ZooKeeper tells what has happened until now."""

    def __init__(self, mirror, now):
        self.mirror, self.now = mirror, now
        self.trouble, self.no_watches, self.reading, self.closed = "", "", False, False
        self.server = ""

    def znodes(self):
        return self

    def changes(self, after=0):
        return [it for it in self.mirror.changes if it.number > after and it.at <= self.now]


@pytest.fixture
def cluster(monkeypatch):
    told = Told(story(), PAUSE)
    monkeypatch.setattr(view.time, "time_ns", lambda: told.now * 1_000_000)
    return told


@pytest.fixture
def tree(cluster):
    tree = ZooKeeperTree(cluster)
    yield tree
    tree.close()


def film():
    changes = story().changes
    tracks = {"znodes": [(it.at, [it.row()]) for it in changes]}
    ends = [state(at=START), state(at=START + 5000)]
    return Recording(ends, [], tracks)


def shown(tree):
    """The words on the stage."""
    return [it.content for it in tree.picture.all() if it.kind == "text"]


def names(tree):
    return [key.removeprefix("row ") for key in tree.picture.by_key if key.startswith("row ")]


def lit(tree):
    """Which rows glow."""
    found = [it for it in tree.picture.all() if it.key.startswith("glow ")]
    levels = {it.where[1]: it.key.removeprefix("row ") for it in tree.picture.all()
              if it.key.startswith("row ")}  # fmt: skip
    return {levels[it.where[1]] for it in found if it.where[1] in levels}


def die(cluster, tree):
    cluster.now = START + 4500
    tree.poll()


def press(tree, key):
    """As a click does it."""
    shape = tree.picture[key]
    act = shape.acts[0]
    assert shape.label
    tree.do(act.name, *([] if act.on is None else [act.on]))
    assert tree.trouble == ""


def test_ephemerals_are_in_italics_with_their_session_and_whose_it_is(tree):
    assert tree.picture["row /brokers/ids/2"].content[1].look == "italic"
    assert tree.picture["row /brokers"].content[1].look == ""
    owner = tree.picture["owner /brokers/ids/2"]
    assert (owner.content, owner.look) == ("0x…02be · broker 2", "soft italic")
    assert tree.picture["eye /controller"].label == "watched by broker 1"
    assert tree.about == "13 znodes · 3 ephemeral, of 2 sessions"
    crown = [it.key for it in tree.picture["chip 2"].content if it.key == "crown"]
    assert crown


def test_the_server_that_is_read_from_is_named_if_there_are_several(cluster, tree):
    assert not [words for words in shown(tree) if words.startswith("Read from")]
    cluster.server = "zookeeper-2 (127.0.0.1:2182)"
    tree.poll()
    assert "Read from zookeeper-2 (127.0.0.1:2182)." in shown(tree)
    cluster.closed = True
    tree.poll()
    assert not [words for words in shown(tree) if words.startswith("Read from")]


def test_what_changes_glows_once_and_a_watch_draws_a_line_to_who_was_told(cluster, tree):
    assert lit(tree) == set()
    die(cluster, tree)
    assert lit(tree) == {"/brokers/ids/2", "/controller", "/controller_epoch"}
    lines = [it for it in tree.picture.all() if it.look == "told"]
    assert [it.label for it in lines] == [
        "broker 1 was told: /brokers/ids/2 deleted",
        "broker 1 was told: /controller deleted",
    ]
    row, chip = tree.picture["row /brokers/ids/2"], tree.picture["chip 1"]
    assert re.match(rf"M\d+ {row.where[1] + 11:.0f}C", lines[0].content)
    assert lines[0].content.endswith(f"{chip.where[0] - 3:.0f} {chip.where[1] + 23:.0f}")
    assert "▽ deleted" in shown(tree)
    assert "no session" in [it.content for it in tree.picture["chip 2"].content]
    assert tree.said == "/controller_epoch changed"

    cluster.now += NEWS + 1
    tree.poll()
    assert lit(tree) == set()
    assert not [it for it in tree.picture.all() if it.look in ("told", "traffic")]
    assert "/brokers/ids/2" not in names(tree)


def test_every_step_back_and_forward_shows_the_tree_as_it_was(cluster, tree):
    die(cluster, tree)
    steps = [it.number for it in tree.history.steps]
    seen = []
    for _ in range(len(steps) + 2):
        tree.do("back")
        seen.append(tree.head)
    assert seen == [*reversed(steps), *[tree.history.began] * 2]
    assert not any("orders" in name for name in names(tree))
    tree.do("forward")
    assert lit(tree) == {"/brokers/topics/orders"}
    for _ in steps[1:]:
        tree.do("forward")
    assert tree.head == steps[-1]
    tree.do("forward")
    assert tree.head is None
    tree.do("begin")
    assert tree.head == tree.history.began
    tree.do("live")
    assert tree.head is None


def test_a_session_that_ends_is_a_step_of_its_own(cluster, tree):
    die(cluster, tree)
    ended = next(it for it in tree.history.steps if it.kind is ChangeKind.ENDED)
    tree.do("step_to", ended.number)
    assert "session 0x…02be of broker 2 ended" in shown(tree)
    assert lit(tree) == set()
    assert f"glow {ended.number}" in tree.picture.by_key  # about the broker
    assert "no session" in [it.content for it in tree.picture["chip 2"].content]
    assert "/brokers/ids/2" in names(tree)
    tree.do("forward")
    assert lit(tree) == {"/brokers/ids/2"}
    assert tree.picture["row /brokers/ids/2"].content[1].look == "italic bad struck"


def test_of_the_past_the_watches_are_those_that_were_set_in_answer(cluster, tree):
    die(cluster, tree)
    tree.do("back")
    assert tree.head == tree.history.steps[-1].number
    assert tree.picture["eye /controller"].label == "watched by broker 1"
    tree.do("back")
    assert "eye /controller" not in tree.picture.by_key  # just told, and not set again yet


def test_a_broker_that_came_back_is_the_one_that_was_told(cluster, tree):
    again = znode("{}", 40, owner=801)
    cluster.mirror.found("/brokers/ids/1", again, START + 4300)
    die(cluster, tree)
    assert tree.picture["chip 1"].label.startswith("broker 1, the controller: session 0x321,")
    told = [it.label for it in tree.picture.all() if it.look == "told"]
    assert "broker 1 was told: /controller deleted" in told


def test_the_timeline_leads_to_any_time(cluster, tree):
    die(cluster, tree)
    tree.do("goto", START + 1001)
    assert tree.history.changes[tree.head - 1].path.endswith("0/state")
    tree.do("seek", 0)
    assert tree.head == tree.history.began
    tree.do("seek", 1)
    assert tree.head is None
    press(tree, f"line {tree.history.steps[-2].number}")
    assert tree.head == tree.history.steps[-2].number


def test_it_plays_change_by_change(cluster, tree):
    die(cluster, tree)
    tree.clock = lambda: now
    now = 100.0
    tree.do("play")
    assert tree.head == tree.history.began
    for step in tree.history.steps:
        now += ZooKeeperTree.PACE
        tree.poll()
        assert tree.head == step.number
    tree.do("play")
    now += ZooKeeperTree.PACE
    tree.poll()
    assert not tree.playing
    assert tree.head == tree.history.steps[-1].number
    tree.do("play")
    now += ZooKeeperTree.PACE
    tree.poll()
    assert (tree.head, tree.playing) == (None, False)


def test_a_branch_is_closed_and_opened(tree):
    press(tree, "row /brokers/topics")
    assert "/brokers/topics/orders" not in names(tree)
    assert tree.picture["row /brokers/topics"].acts[0].name == "expand"
    press(tree, "row /brokers/topics")
    assert "/brokers/topics/orders" in names(tree)


def test_a_znode_is_opened_in_full_and_shut(tree):
    press(tree, "data /controller")
    words = " ".join(shown(tree))
    assert "brokerid" in words
    assert "session 0x2be of broker 2: gone when that ends" in words
    assert "by broker 1, for its next change" in words
    press(tree, "shut")
    assert "panel" not in tree.picture.by_key
    press(tree, "row /controller")
    press(tree, "row /controller")
    assert "panel" not in tree.picture.by_key
    press(tree, "row /controller_epoch")
    tree.do("choose", "/nothing")
    assert tree.trouble == "there is no znode /nothing at this moment"


def test_a_chip_tells_what_it_watches(tree):
    press(tree, "chip 1")
    words = shown(tree)
    assert "Broker 1 watches the data of" in words
    assert {"/controller", "/brokers/ids/2"} <= set(words)
    press(tree, "chip 1")
    assert "panel" not in tree.picture.by_key


def test_others_who_watch_are_shown_and_brokers_without_room_are_counted(cluster, tree):
    for number in range(3, 11):
        broker = znode("{}", 100 + number, owner=700 + number)
        cluster.mirror.found(f"/brokers/ids/{number}", broker, START + 4300)
    cluster.mirror.watched({999: {"/controller"}}, START + 4300)
    die(cluster, tree)
    assert [key for key in tree.picture.by_key if key.startswith("chip ")] == [
        *(f"chip {number}" for number in range(1, 7)),
        "chip -1 999",
    ]
    assert "and 4 more brokers" in shown(tree)
    assert tree.picture["chip -1 999"].label == "somebody else: session 0x3e7, 1 watched"
    press(tree, "chip -1 999")
    assert "Somebody else watches the data of" in shown(tree)


def test_an_error_stays_until_the_next_act(cluster, tree):
    tree.do("choose", "/nothing")
    cluster.now += 1000
    tree.poll()
    assert "no znode /nothing" in tree.trouble
    tree.do("choose", "/controller")
    assert tree.trouble == ""


def test_a_path_is_found_while_it_is_typed(tree):
    tree.do("find", "ST")
    assert names(tree) == ["/brokers/topics/orders/partitions/0/state"]
    tree.do("find", "nobody")
    assert names(tree) == []
    tree.do("find", "")
    assert "/brokers" in names(tree)
    assert tree.controls[0]["typed"]


def test_a_change_in_a_closed_or_unfound_place_has_a_row_all_the_same(cluster, tree):
    tree.do("collapse", "/brokers")
    tree.do("find", "controller")
    die(cluster, tree)
    assert lit(tree) == {"/controller", "/controller_epoch"}
    tree.do("find", "")
    assert "/brokers" in lit(tree)


def test_more_children_are_shown_a_dozen_at_a_time(cluster, tree):
    for number in range(30):
        cluster.mirror.found(f"/config/{number}", znode(), START + 2500)
    cluster.now = START + 9000
    tree.poll()
    tree.do("expand", "/config")
    tree.do("collapse", "/brokers")
    assert "… 18 more" in [it.content for it in tree.picture["row /config/…"].content]
    press(tree, "row /config/…")
    numbers = [row.name for row in tree.view_state().every if row.path.startswith("/config/")]
    assert numbers == [*map(str, range(24)), ""]
    tree.do("scroll", 99)
    assert "… 6 more" in [it.content for it in tree.picture["row /config/…"].content]


def test_of_many_rows_some_are_shown_and_the_others_are_scrolled_to(cluster, tree):
    for number in range(30):
        cluster.mirror.found(f"/config/{number:02}", znode(), START + 5000 + number)
    tree.do("expand", "/config")
    tree.do("more", "/config")
    tree.do("more", "/config")
    cluster.now = START + 6000
    tree.poll()
    every = [row.path for row in tree.view_state().every]
    assert "/config/29" in names(tree)  # it follows the last change
    seen = set()
    tree.do("scroll", 0)
    while "▾" in names(tree):
        shown = names(tree)
        assert len(shown) == ROWS
        seen |= {*shown}
        press(tree, "row ▾")
    assert {*every} == (seen | {*names(tree)}) - {"▴", "▾"}
    assert names(tree)[0] == "▴" and names(tree)[-1] == every[-1]
    press(tree, "row ▴")
    assert every[-1] not in names(tree)
    tree.do("scroll", 0)
    cluster.mirror.found("/config/29", znode("new", changed=90), START + 9000)
    cluster.now = START + 9000
    tree.poll()
    assert lit(tree) == {"▾"}  # below the rows on the page
    tree.do("choose", "/config/29")
    assert "/config/29" in names(tree) and len(names(tree)) == ROWS_OPEN


def test_what_has_not_changed_is_one_row(cluster, tree):
    for path in ("/admin", "/feature", "/consumers"):
        cluster.mirror.found(path, znode(), START, ChangeKind.THERE)
    tree.poll()
    told = tree.picture["row //≡"]
    assert told.content[1].content == "… 4 unchanged: admin, config, consumers, feature"
    assert "/admin" not in names(tree)
    press(tree, "row //≡")
    assert {"/admin", "/config", "/consumers", "/feature"} <= {*names(tree)}
    tree.do("collapse", "/")
    tree.do("expand", "/")
    assert "/admin" not in names(tree)
    cluster.mirror.found("/admin/delete_topics", znode(), START + 3000)
    tree.poll()
    assert "/admin" in names(tree)
    tree.do("begin")
    assert "/admin" not in names(tree)  # nor had it changed then


def test_what_cannot_be_seen_is_said(cluster, tree):
    cluster.no_watches, cluster.reading = "This ZooKeeper refuses the word 'wchc'.", True
    cluster.trouble = "No answer from ZooKeeper at here:2181."
    cluster.now += 1000
    tree.poll()
    assert tree.trouble == "No answer from ZooKeeper at here:2181."
    words = shown(tree)
    assert cluster.no_watches in words
    assert "Reading: 12 znodes up to now." in words


def test_of_a_cluster_that_is_over_the_past_stays(cluster, tree):
    die(cluster, tree)
    cluster.closed = True
    assert not tree.poll()
    assert view.OVER in shown(tree)
    tree.do("back")
    assert tree.head == tree.history.steps[-1].number


def test_a_recording_plays_without_a_cluster():
    tree = ZooKeeperTree(film())
    assert not tree.poll()
    tree.do("begin")
    assert "/controller" in names(tree)
    for step in tree.history.steps:
        tree.do("forward")
        assert tree.head == step.number
    assert [it["act"] for it in tree.controls] == [
        "find", "begin", "back", "play", "forward", "live",
    ]  # fmt: skip
    tree.close()


def test_a_recording_without_znodes_says_how_to_get_one_with_them():
    tree = ZooKeeperTree(Recording([state()], []))
    assert shown(tree) == [HOW]
    assert "cluster.record(path, znodes=True)" in HOW
    tree.close()


def test_nothing_but_its_acts_can_be_called(tree):
    tree.do("close")
    assert "There is no 'close' here" in tree.trouble


# -- layout -------------------------------------------------------------------------------------


def test_a_saved_notebook_stays_small(cluster, tree):
    for number in range(500):
        data = '{"partitions":{"0":[1,2,3]},"topic_id":"0HJQZ621RHy6za9QiN5DvA","version":3}'
        cluster.mirror.found(f"/brokers/topics/topic-{number}", znode(data), START + 2500)
    cluster.now = START + 9000
    tree.poll()
    tree.do("find", "topic-")
    assert len(tree.scene) < 45_000
