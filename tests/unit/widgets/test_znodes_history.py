"""Changes, one after another, make the tree of every moment; and what of it is seen."""

import json

from engine.cluster.recording import Recording
from engine.cluster.znode_changes import ChangeKind, ZnodeChange, ZnodeState, ZnodeTree
from engine.cluster.znode_watcher import alive, watches
from tests.unit.widgets.cluster import START, state
from widgets.znodes.history import ZnodeHistory, recorded
from widgets.znodes.rows import MOST, TreeSelection, row_of, visible
from widgets.znodes.words import fields, one_line, purpose, stat, told

BROKER = '{"host":"127.0.0.1","port":%d,"version":5}'


def znode(data="", zxid=1, *, version=0, owner=0, changed=0):
    return ZnodeState(data, zxid, changed or zxid, START, START, version, owner)


def story():
    """Two brokers, of which one dies; the other, who watched, becomes controller."""
    it = ZnodeTree()
    for number, path in enumerate(("/", "/brokers", "/brokers/ids", "/brokers/topics", "/config")):
        it.found(path, znode(zxid=number), START, ChangeKind.THERE)
    it.found("/controller_epoch", znode("1", 9), START, ChangeKind.THERE)
    for broker in (1, 2):
        it.found(
            f"/brokers/ids/{broker}",
            znode(BROKER % broker, 9 + broker, owner=700 + broker),
            START,
            ChangeKind.THERE,
        )
    it.found("/controller", znode('{"brokerid":2}', 12, owner=702), START, ChangeKind.THERE)
    it.watched({701: {"/controller", "/brokers/ids/2"}, 702: {"/controller"}}, START + 10)
    it.found("/brokers/topics/orders", znode('{"partitions":{"0":[1,2]}}', 20), START + 1000)
    it.found("/brokers/topics/orders/partitions", znode(zxid=21), START + 1000)
    it.found("/brokers/topics/orders/partitions/0", znode(zxid=22), START + 1001)
    leads = znode('{"leader":2,"isr":[2,1]}', 23)
    it.found("/brokers/topics/orders/partitions/0/state", leads, START + 1001)
    it.watched({701: {"/controller", "/brokers/ids/2"}}, START + 2000)  # killed: who is connected?
    it.ended([702], START + 4000)
    it.gone("/brokers/ids/2", START + 4000)
    it.ended([702], START + 4001)  # known by now
    it.gone("/controller", START + 4001)
    it.found("/controller", znode('{"brokerid":1}', 31, owner=701), START + 4010)
    it.found("/controller_epoch", znode("2", 9, version=1, changed=32), START + 4010)
    it.watched({701: {"/controller"}}, START + 4200)
    return it


def test_changes_make_the_tree_of_every_moment():
    mirror = story()
    history = ZnodeHistory()
    pasts = []
    for change in mirror.changes:
        history.add([change])
        pasts.append((dict(history.now.nodes), history.now.controller))
    assert history.now.nodes == mirror.nodes
    for number in (1, 20, 5, len(pasts), 17, 9):  # in whatever order one asks
        tree = history.at(number)
        assert (tree.nodes, tree.controller) == pasts[number - 1], number
    assert [pasts[0][1], pasts[10][1], pasts[-1][1]] == [-1, 2, 1]


def test_the_steps_are_what_happened_and_not_what_was_there():
    history = ZnodeHistory(story().changes)
    words = [told(change, history) for change in history.steps]
    assert words == [
        "/brokers/topics/orders created",
        "/brokers/topics/orders/partitions created",
        "/brokers/topics/orders/partitions/0 created",
        "/brokers/topics/orders/partitions/0/state created",
        "session 0x…02be of broker 2 ended",
        "/brokers/ids/2 deleted → told: broker 1",
        "/controller deleted → told: broker 1",
        "/controller created",
        "/controller_epoch changed",
    ]
    numbers = [change.number for change in history.steps]
    assert [history.after(number) for number in numbers] == [*numbers[1:], None]
    assert [history.before(number) for number in numbers] == [None, *numbers[:-1]]
    before = history.at(history.began)
    assert "/brokers/topics/orders" not in before.nodes
    assert "/controller" in before.nodes


def test_who_was_told_has_no_watch_any_more_until_it_is_set_again():
    history = ZnodeHistory(story().changes)
    gone = next(it for it in history.steps if it.path == "/controller")
    assert history.at(gone.number - 1).watchers["/controller"] == {701}
    assert history.at(gone.number).watchers["/controller"] == set()
    assert history.now.watched_by(701) == ["/controller"]
    assert history.now.watched_by(702) == []


def test_a_znode_that_was_made_anew_was_gone_meanwhile():
    mirror = ZnodeTree()
    mirror.found("/a", znode("1", 1), START)
    mirror.found("/a", znode("1", 1), START)  # nothing new
    mirror.found("/a", znode("2", 1, changed=5), START)
    mirror.found("/a", znode("3", 6), START)
    mirror.missed("/b", START)
    kinds = [(it.kind, it.path) for it in mirror.changes]
    assert kinds == [
        (ChangeKind.CREATED, "/a"),
        (ChangeKind.CHANGED, "/a"),
        (ChangeKind.DELETED, "/a"),
        (ChangeKind.CREATED, "/a"),
        (ChangeKind.CREATED, "/b"),
    ]


def test_with_a_parent_all_below_it_goes_from_the_leaves_upwards():
    mirror = ZnodeTree()
    for path in ("/", "/a", "/a/b", "/a/b/c", "/d"):
        mirror.found(path, znode(), START, ChangeKind.THERE)
    mirror.only("/", ["d"], START)
    gone = [it.path for it in mirror.changes if it.kind is ChangeKind.DELETED]
    assert gone == ["/a/b/c", "/a/b", "/a"]
    history = ZnodeHistory(mirror.changes)
    assert sorted(history.now.nodes) == ["/", "/d"] == sorted(mirror.nodes)
    assert history.now.children("/") == ["/d"]


def test_a_recording_gives_the_same_changes():
    changes = story().changes
    rows = json.loads(json.dumps([change.row() for change in changes]))
    tracks = {"znodes": [(START, rows[:5]), (START + 900, rows[5:])]}
    assert recorded(Recording([state()], [], tracks)) == changes
    assert recorded(Recording([state()], [])) == []


def test_the_words_of_zookeeper():
    text = "0x10\n\t/controller\n\t/brokers/ids/1\n0x1f\n\t/controller\n\n"
    assert watches(text) == {16: {"/controller", "/brokers/ids/1"}, 31: {"/controller"}}
    dump = (
        "SessionTracker dump:\nSession Sets (1)/(2):\n2 expire at noon:\n\t0x10\n\t0x1f\n"
        "ephemeral nodes dump:\nSessions with Ephemerals (1):\n0x30:\n\t/controller\n"
    )
    assert alive(dump) == {16, 31}


# -- rows ---------------------------------------------------------------------------------------


def names(rows):
    return [f"{'  ' * row.depth}{row.name}" for row in rows]


def test_what_kafka_lives_by_is_open():
    history = ZnodeHistory(story().changes)
    rows = visible(history.now, TreeSelection(), {})
    assert names(rows) == [
        "/",
        "  brokers",
        "    ids",
        "      1",
        "    topics",
        "      orders",
        "        partitions",
        "          0/state",
        "  config",
        "  controller",
        "  controller_epoch",
    ]
    levels = {row.path for row in rows}
    partition = "/brokers/topics/orders/partitions/0"
    assert row_of(partition, levels) == f"{partition}/state"
    closed = TreeSelection(closed={"/brokers"})
    assert names(visible(history.now, closed, {}))[:3] == ["/", "  brokers", "  config"]
    levels = {row.path for row in visible(history.now, closed, {})}
    assert row_of(partition, levels) == "/brokers"


def test_what_has_just_gone_is_still_in_its_place():
    history = ZnodeHistory(story().changes)
    was = history.at(1).nodes.get("/brokers/ids/2")
    rows = visible(history.now, TreeSelection(), {"/brokers/ids/2": was})
    ids = [row for row in rows if row.path.startswith("/brokers/ids/")]
    assert [(row.name, row.gone) for row in ids] == [("1", False), ("2", True)]


def big(count):
    mirror = ZnodeTree()
    for path in ("/", "/brokers", "/brokers/topics"):
        mirror.found(path, znode(), START, ChangeKind.THERE)
    for number in range(count):
        mirror.found(f"/brokers/topics/t{number}", znode("{}"), START, ChangeKind.THERE)
        mirror.found(f"/brokers/topics/t{number}/partitions", znode(), START, ChangeKind.THERE)
    return ZnodeHistory(mirror.changes).now


def test_a_thousand_topics_are_summarised_and_each_is_found():
    tree = big(1000)
    rows = visible(tree, TreeSelection(), {})
    assert len(rows) == 3 + 12 + 1
    assert rows[-1].more == 988
    assert len(visible(tree, TreeSelection(limits={"/brokers/topics": 24}), {})) == 3 + 24 + 1
    assert len(visible(tree, TreeSelection(limits={"/brokers/topics": 1000}), {})) == MOST
    found = visible(tree, TreeSelection(wanted="T777"), {})
    assert [row.path for row in found] == [
        "/brokers/topics/t777",
        "/brokers/topics/t777/partitions",
    ]
    many = visible(tree, TreeSelection(wanted="topics"), {})
    assert (len(many), many[-1].more) == (MOST, 2001 - (MOST - 1))
    assert visible(tree, TreeSelection(wanted="nobody"), {}) == []


# -- words --------------------------------------------------------------------------------------


def test_data_are_read_as_json_or_as_they_are():
    assert one_line('{"leader":2,"isr":[2,1]}') == "leader: 2, isr: [2, 1]"
    assert fields('{"a":{"b":"c"}}') == [("a", '{"b": "c"}')]
    assert one_line("12") == "12"
    assert one_line("plain words\nand more") == "plain words, and more"
    assert fields("") == [("", "no data")]


def test_every_number_of_a_stat_is_explained():
    history = ZnodeHistory(story().changes)
    one = history.now.nodes["/brokers/ids/1"]
    words = dict(stat("/brokers/ids/1", one, history))
    assert words["czxid"].startswith("10: the transaction that created it, the broker's epoch")
    assert words["owner"] == "session 0x2bd of broker 1: gone when that ends"
    epoch = dict(stat("/controller_epoch", history.now.nodes["/controller_epoch"], history))
    assert epoch["mzxid"].startswith("32: ")
    assert epoch["version"] == "1: written once since its creation"
    assert epoch["owner"] == "0: it stays until somebody deletes it"
    assert "czxid is the broker's epoch" in purpose("/brokers/ids/1")
    assert purpose("/mine") == ""


def test_what_was_gone_before_it_could_be_read_says_so():
    change = ZnodeChange(
        1, START, ChangeKind.CREATED, "/isr_change_notification/isr_change_0000000000"
    )
    assert told(change, ZnodeHistory([change])).endswith(
        "created, and gone before it could be read"
    )
    assert ZnodeChange.parse(json.loads(json.dumps(change.row()))) == change


def test_how_far_a_migration_is_makes_no_step_and_who_leads_it_does():
    tree = ZnodeTree()
    progress = '{{"kraft_metadata_offset":{},"kraft_controller_id":{}}}'
    for number, (offset, leader) in enumerate([(-1, 102), (20, 102), (21, 102), (21, 103)]):
        written = znode(progress.format(offset, leader), 5, version=number, changed=5 + number)
        tree.found("/migration", written, START + number)
    history = ZnodeHistory(tree.changes)
    assert [change.number for change in history.steps] == [1, 4]
    assert '"kraft_metadata_offset":21' in history.at(3).nodes["/migration"].data
