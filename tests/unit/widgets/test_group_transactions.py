"""Offsets that are committed in transactions: which, by whom, with what result, and where drawn."""

from engine.cluster.recording import Recording
from tests.unit.widgets.cluster import START, event
from tests.unit.widgets.readable import extents
from tests.unit.widgets.test_group_history import IDS, told
from tests.unit.widgets.test_group_scene import group, story, view_state, words
from widgets.group.group_run import RecordedGroup
from widgets.group.layout import Rows
from widgets.group.scene import picture

PRODUCERS = {"till-1": 4000, "till-2": 4001}


def changed(at, id, was, state, epoch=0):
    facts = {"id": id, "was": was, "state": state, "producer": PRODUCERS[id], "epoch": epoch}
    return event("transaction.changed", at, 2, **facts, partitions=[])


def sent(at, id, lane, offset, epoch=0, result="pending", partition=0):
    facts = {"producer": PRODUCERS[id], "epoch": epoch, "result": result, "group": "g"}
    offsets = {f"orders-{partition}": offset}
    return event("offset.transaction", at, 1, **facts, member=IDS.get(lane, ""), offsets=offsets)


def transaction(at, id, lane, offset, epoch=0, end="Commit", lasts=300, raised=0):
    """Begun, offsets sent, decided, and its markers written."""
    decided = at + lasts
    return [
        changed(at, id, "Empty", "Ongoing", epoch),
        sent(at + lasts // 2, id, lane, offset, epoch),
        changed(decided, id, "Ongoing", f"Prepare{end}", epoch + raised),
        event(
            "offset.transaction",
            decided + 5,
            1,
            group="g",
            producer=PRODUCERS[id],
            result="committed" if end == "Commit" else "aborted",
        ),
        changed(decided + 10, id, f"Prepare{end}", f"Complete{end}", epoch + raised),
    ]


def copying():
    """Two consumers whose offsets are committed in transactions, of which some are aborted."""
    return [
        *story(),
        *transaction(3000, "till-1", "c1", 10),
        *transaction(3800, "till-1", "c1", 12, end="Abort"),
        *transaction(4000, "till-2", "c2", 5, lasts=1500, end="Abort", raised=1),
        sent(6000, "till-2", "c2", 7, result="invalid_producer_epoch"),
        *[it for n in range(12) for it in transaction(6100 + 60 * n, "till-1", "c1", n, lasts=30)],
        changed(7200, "till-1", "CompleteCommit", "Ongoing"),
        sent(7400, "till-1", "c1", 30),
    ]


def spans(events):
    found = told(events).transactions.facts.own
    return [(it.id, it.epoch, it.began - START, it.result, it.fenced) for it in found]


def test_a_transaction_is_told_from_its_begin_to_its_markers():
    history = told([*story(), *transaction(3000, "till-1", "c1", 10)])
    (span,) = history.transactions.facts.own
    assert (span.name, span.began, span.decided, span.ended) == (
        "till-1 (producer 4000, epoch 0)",
        *(START + 3000, START + 3300, START + 3310),
    )
    (commit,) = span.commits
    assert (commit.lane, commit.words, commit.error) == ("c1", "orders-0 → 10", "")


def test_results_and_the_producers_that_were_fenced():
    assert spans(copying())[:3] == [
        ("till-1", 0, 3000, "committed", False),
        ("till-1", 0, 3800, "aborted", False),
        ("till-2", 0, 4000, "aborted", True),
    ]
    assert spans(copying())[-1] == ("till-1", 0, 7200, "", False)
    (refused,) = told(copying()).transactions.facts.refused
    assert (refused.id, refused.lane, refused.error) == ("till-2", "c2", "invalid_producer_epoch")


def test_events_of_two_coordinators_may_come_in_any_order():
    assert spans([*story(), *transaction(3000, "till-1", "c1", 10)[::-1]]) == [
        ("till-1", 0, 3000, "committed", False)
    ]


def test_offsets_that_are_sent_in_the_millisecond_of_the_decision_belong_to_it():
    events = transaction(3000, "till-1", "c1", 10)
    events[1] = events[1]._replace(at=START + 3300)
    assert len(spans([*story(), *events])) == 1


def test_transactions_of_other_groups_are_left_out():
    others = transaction(3000, "till-2", "c1", 10)
    for it in others:
        it.data.update(group="other") if it.kind == "offset.transaction" else None
    assert spans([*story(), *others]) == []
    scene = picture(view_state([*story(), *others]))
    assert "transactional id till-2" not in scene.by_key


def test_without_the_transaction_coordinators_events_the_marker_tells_the_result():
    events = [it for it in transaction(3000, "till-1", "c1", 10) if it.broker == 1]
    assert spans(events) == [("producer 4000", 0, 3150, "committed", False)]


def test_a_lane_shows_what_was_sent_and_what_came_of_it():
    here = view_state(copying())
    scene = picture(here)
    assert scene[f"offsets c1 {START + 3150}"].label == (
        "3.1 s: c1 commits orders-0 → 10 in a transaction of till-1, epoch 0: committed"
    )
    aborted = scene[f"offsets c1 {START + 3950}"]
    assert [it.content for it in aborted.content if it.kind == "text"] == ["✗", "till-1·0"]
    lost = scene[f"offsets c2 {START + 4750}"]
    assert "aborted, the producer is fenced" in lost.label
    assert next(it.content for it in lost.content if it.kind == "text") == "⊘"
    refused = scene[f"offsets c2 {START + 6000}"].label
    assert refused.endswith("may not commit orders-0 → 7 in a transaction of till-2, epoch 0: "
                            "INVALID_PRODUCER_EPOCH")  # fmt: skip


def test_each_transactional_id_has_a_row_below_the_lanes_with_its_epoch():
    here = view_state(copying())
    scene, rows = picture(here), Rows(here)
    assert list(rows.ids) == ["till-1", "till-2"]
    assert min(rows.ids.values()) >= rows.top["c2"] + rows.height["c2"]
    assert "till-2 | epoch 1 | producer 4001" in words(scene)
    fenced = scene[f"transactions till-2 {START + 4000}"]
    assert "epoch 0 fenced" in [it.content for it in fenced.content]
    assert fenced.label == (
        "till-2 (producer 4001, epoch 0): begun at 4.00 s, aborted at 5.50 s, and this epoch is "
        "fenced; all partitions had its marker 0.01 s later"
    )
    looks = {
        at: next(it.look for it in scene[f"transactions till-1 {START + at}"].content
                 if it.key == "bar")
        for at in (3000, 3800, 7200)
    }  # fmt: skip
    assert looks == {3000: "hop", 3800: "offline", 7200: "slow"}


def test_many_short_transactions_are_one_mark_that_counts_them():
    scene = picture(view_state(copying(), at=60_000))
    labels = [it.label for it in scene.all() if it.key.startswith("transactions till-1")]
    assert len(labels) < 4
    assert any("12 committed" in it or "13 committed" in it for it in labels)


def test_the_last_one_is_told_in_a_sentence():
    assert (
        "Last transaction, of till-1 (producer 4000, epoch 0): orders-0 → 30 count when it is "
        in (words(picture(view_state(copying()))))
    )
    ended = words(picture(view_state([*story(), *transaction(3000, "till-1", "c1", 10)])))
    assert "committed after 0.30 s, and orders-0 → 10 with it." in ended


def test_a_recording_shows_only_what_had_happened_by_then():
    states = [view_state(at=at).state for at in (0, 4100, 8000)]
    past = RecordedGroup(
        Recording(states, [it._replace(number=n) for n, it in enumerate(copying(), 1)]), "g"
    )
    own = past.at(START + 4500).history.transactions.facts.own
    assert [(it.id, it.result) for it in own] == [("till-1", "committed"), ("till-1", "aborted")]


def test_marks_lie_within_the_picture_and_lanes_are_higher_for_them():
    plain, marked = Rows(view_state()), Rows(view_state(copying()))
    assert marked.height["c1"] == plain.height["c1"] + 18
    for width in (1000, 356):
        here = view_state(copying(), width=width)
        scene = picture(here)
        for shape, left, bottom, right in extents(scene.shapes):
            assert left >= -1 and right <= width + 1 and bottom <= scene.height + 1, shape.key


def test_a_group_without_members_has_rows_only():
    events = transaction(3000, "till-1", "nobody", 10)
    here = view_state(events)
    scene = picture(here)
    assert "transactional id till-1" in scene.by_key
    assert here.start == START + 3000
    assert group({}).members == {}
