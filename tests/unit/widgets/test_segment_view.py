"""A learner looks at a log, asks for an offset and a time, and watches how it is found."""

import json
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from engine.storage.log import Log
from engine.storage.retention import enforce
from tests.unit.storage import compacted
from tests.unit.storage.disk import NOW, Disk, batch, temporary_disk
from widgets.controls import Control
from widgets.log import directory, ribbon
from widgets.log.ribbon import LEFT, slabs
from widgets.log.segment_history import SegmentHistory, SegmentPiece, SegmentState
from widgets.log.view import EVERY, PACE, SegmentView
from widgets.scene import Scene, SceneShape
from widgets.stage import USUAL, SceneWidget

RIGHT = 944  # the end of a ribbon in a picture of 960 px


@pytest.fixture
def disk() -> Iterator[Disk]:
    with temporary_disk(segment_bytes=4000, index_interval_bytes=200) as disk:
        yield disk


def fill(log: Log, count: int = 300, seed: int = 1) -> None:
    chance = random.Random(seed)
    for number in range(count):
        log.append(batch(chance.randint(1, 4), chance.randint(5, 60), at=NOW + number), 0, NOW)


@pytest.fixture
def view(disk: Disk) -> Iterator[SegmentView]:
    fill(disk.open())
    view = SegmentView(disk.directory)
    yield view
    view.close()


def words(scene: Scene | None) -> str:
    assert scene is not None
    return " | ".join(str(it.content) for it in scene.all() if it.kind == "text")


def control(view: SegmentView, act: str) -> Control:
    found: Control = next(it for it in view.controls if it["act"] == act)
    return found


def finish(view: SegmentView) -> None:
    assert view.lookup is not None
    while view.shown < len(view.lookup.steps):
        view.do("step")


def is_sound(scene: Scene | None) -> None:
    """Everything is inside, keys are unique, and what can be done has a label."""
    assert scene is not None
    keys = [shape.key for shape in scene.shapes]
    assert len(keys) == len(set(keys))
    for shape in scene.all():
        assert shape.label or not shape.does
        if shape.kind in ("rect", "text", "circle"):
            assert 0 <= shape.where[0] <= scene.width and 0 <= shape.where[1] <= scene.height
        if shape.kind == "rect":
            assert shape.where[0] + shape.where[2] <= scene.width - LEFT + 0.1


def of(scene: Scene | None, look: str) -> list[SceneShape]:
    assert scene is not None
    return [shape for shape in scene.all() if look in shape.look.split()]


# -- the ribbon ------------------------------------------------------------------------------


def test_a_log_is_a_ribbon_to_scale(view: SegmentView, disk: Disk) -> None:
    found = directory.look(disk.directory)
    closed = of(view.picture, "closed")
    assert len(closed) == len(found.segments) - 1
    assert view.facts in words(view.picture)
    ratios = [it.where[2] / at.size for it, at in zip(closed, found.segments, strict=False)]
    assert max(ratios) < 1.05 * min(ratios)
    (active,) = of(view.picture, "open")
    assert "active" in active.label
    indexed = [segment for segment in found.segments if len(segment.offsets)]
    assert len(of(view.picture, "tick")) == len(indexed) > 5
    assert f"{len(found.segments)} segments" in view.facts
    is_sound(view.picture)


def test_slabs_never_overlap_whatever_their_sizes(disk: Disk) -> None:
    fill(disk.open(segment_bytes=400), 400)
    pieces = SegmentHistory().see(directory.look(disk.directory))
    assert len(pieces) > 60
    chance = random.Random(2)
    for count in (1, 2, 5, 30, len(pieces)):
        sized = [
            it._replace(segment=it.segment._replace(size=chance.choice([0, 1, 70, 10**9])))
            for it in pieces[:count]
        ]
        found = slabs(sized, {sized[-1].segment.base_offset})
        assert all(left.end <= right.x for left, right in pairwise(found))
        assert found[0].x == LEFT
        assert found[-1].end == pytest.approx(RIGHT)
        assert all(slab.width > 0 for slab in found)
        assert sum(len(slab.pieces) for slab in found) == count

    asked = pieces[30].segment.base_offset
    shown = [slab.piece.segment.base_offset for slab in slabs(pieces, {asked}) if not slab.is_fold]
    assert asked in shown
    assert f"{len(pieces) - 22} more" not in words(Scene(960, 90, ribbon.draw(slabs(pieces))))
    assert "more segments" in of(Scene(960, 90, ribbon.draw(slabs(pieces))), "folded")[0].label


def test_a_growing_log_rolls_and_says_so(view: SegmentView, disk: Disk) -> None:
    before = len(of(view.picture, "closed"))
    assert disk.log is not None
    fill(disk.log, 60)
    view.reread()
    assert len(of(view.picture, "closed")) > before
    assert view.said.endswith("is new.")
    shown = view.scene
    view.reread()
    assert view.scene is shown


def test_what_retention_deleted_stays_to_be_seen(view: SegmentView, disk: Disk) -> None:
    assert disk.log is not None
    disk.log.reconfigure(disk.log.config.__class__(retention_bytes=9000, segment_bytes=4000))
    gone = enforce(disk.log, NOW, disk.log.end_offset)
    disk.log.sweep(NOW + 10**9)
    view.reread()
    assert gone > 2
    found = of(view.picture, "gone")
    assert 0 < len(found) <= gone
    assert all("deleted by retention" in shape.label and not shape.acts for shape in found)
    assert "deleted" in words(view.picture)
    is_sound(view.picture)


def test_a_first_look_knows_what_is_just_leaving(disk: Disk) -> None:
    log = disk.open(retention_bytes=9000)
    fill(log)
    enforce(log, NOW, log.end_offset)
    states = [piece.state for piece in SegmentHistory().see(directory.look(disk.directory))]
    assert SegmentState.DELETED in states


def test_what_compaction_did_is_marked(tmp_path: Path) -> None:
    store = compacted.Store(tmp_path, segment_bytes=2000, index_interval_bytes=150)
    compacted.fill(store.log, "a=1 b=1 c=1 | a=2 b=2 d=1 | e=1 | a=3")
    view = SegmentView(store.log.directory)
    store.clean()
    view.reread()
    (squeezed,) = of(view.picture, "squeezed")
    assert "before it was compacted" in squeezed.label
    assert " of " in words(view.picture)
    merged = of(view.picture, "gone")
    assert [it.label.split(",")[0] for it in merged] == [
        "segment 3: merged by compaction",
        "segment 6: merged by compaction",
    ]
    is_sound(view.picture)
    view.close()
    store.log.abandon()


def test_a_torn_file_says_where(view: SegmentView, disk: Disk) -> None:
    newest = sorted(disk.directory.glob("*.log"))[-1]
    size = newest.stat().st_size
    with newest.open("ab") as file:
        file.write(batch(2)[:80])
    view.reread()
    assert f"▲ {newest.name} is torn at byte {size:,}" in words(view.picture)
    assert "cut off" in words(view.picture)


def test_of_a_log_that_is_gone_the_last_picture_stays(view: SegmentView, disk: Disk) -> None:
    disk.abandon()
    shown = view.scene
    disk.directory.rename(disk.directory.with_name("payments-0"))
    assert not view.poll()
    assert view.trouble.startswith("there is no directory")
    assert view.scene == shown


# -- the search ------------------------------------------------------------------------------


def test_an_offset_is_found_step_by_step(view: SegmentView) -> None:
    view.do("ask_offset", 300)
    assert view.lookup is not None
    steps = view.lookup.steps
    assert view.shown == 1
    for shown in range(1, len(steps) + 1):
        probes = [it for it in steps[:shown] if it.kind in ("segment", "offsets")]
        assert len(of(view.picture, "probe")) == len(probes)
        landed = [cell for cell in of(view.picture, "hit") if "found" in cell.label]
        assert len(landed) == (shown == len(steps))
        assert len(of(view.picture, "watermark")) == (shown == len(steps))
        wanted = view.lookup.words if shown == len(steps) else steps[shown - 1].words
        assert wanted in words(view.picture)
        is_sound(view.picture)
        view.do("step")
    assert "probes into" in words(view.picture)
    assert view.said == view.lookup.words
    view.do("back")
    assert view.shown == len(steps) - 1
    view.do("clear")
    assert not of(view.picture, "probe")
    assert view.trouble == ""


def test_the_picture_does_not_jump_while_it_plays(view: SegmentView) -> None:
    view.do("ask_offset", 400)
    view.do("step")
    assert view.picture is not None
    height = view.picture.height
    finish(view)
    assert abs(view.picture.height - height) <= 18  # the last words may take a line more


def test_it_plays_by_itself_and_can_be_held(view: SegmentView) -> None:
    now = 0.0
    view.clock = lambda: now
    view.do("ask_offset", 250)
    assert control(view, "play")["words"] == "❙❙ pause"
    now = PACE
    assert view.poll()
    assert view.shown == 2
    view.poll()
    assert view.shown == 2
    view.do("play")
    now = 9 * PACE
    view.poll()
    assert view.shown == 2
    view.do("play")
    assert view.lookup is not None
    for _ in view.lookup.steps:
        now += PACE
        view.poll()
    assert view.shown == len(view.lookup.steps)
    assert control(view, "play")["words"] == "▸ play"
    view.do("play")
    assert view.shown == 0


def test_looking_follows_the_directory(view: SegmentView, disk: Disk) -> None:
    now = 100.0
    view.clock = lambda: now
    view.poll()
    before = view.facts
    assert disk.log is not None
    fill(disk.log, 10)
    view.poll()
    assert view.facts == before
    now += EVERY
    view.poll()
    assert view.facts != before


@pytest.mark.parametrize("when", [str(NOW + 150), "2023-11-14 22:13:20.150", "22:13:20.150"])
def test_a_time_is_found(view: SegmentView, when: str) -> None:
    view.do("ask_time", when)
    assert view.trouble == ""
    finish(view)
    assert view.lookup is not None and view.lookup.found is not None
    kinds = [step.kind for step in view.lookup.steps]
    assert kinds.index("newest") < kinds.index("times") < kinds.index("offsets")
    assert "The first record that is not older" in words(view.picture)
    assert "time index entries" in words(view.picture)
    is_sound(view.picture)


def test_what_cannot_be_found_is_said(view: SegmentView) -> None:
    view.do("ask_offset", 10**6)
    assert "out of range" in words(view.picture)
    view.do("ask_time", "soon")
    assert "'soon' is no time: write 12:30:00" in view.trouble
    view.do("open_found")
    assert view.trouble == "nothing was looked up and found yet"
    view.do("close")
    assert "There is no 'close' here" in view.trouble


# -- into the bytes --------------------------------------------------------------------------


def test_an_offset_is_followed_into_the_hex_view(view: SegmentView) -> None:
    assert view.hex.layout.display == "none"
    view.do("ask_offset", 222)
    finish(view)
    assert view.lookup is not None and view.lookup.found is not None
    found = view.lookup.found
    (cell,) = [shape for shape in of(view.picture, "hit") if shape.acts]
    act = cell.acts[0]
    view.do(act.name, *([] if act.on is None else [act.on]))
    assert view.trouble == ""
    assert view.hex.layout.display != "none"
    assert view.hex.page is not None
    assert view.hex.page.path == found.segment.path
    first = view.hex.page.field_at(found.position)
    assert first is not None
    assert (first.name, first.value) == ("base offset", str(found.header.base_offset))
    assert view.hex.chosen is not None
    asked = view.hex.page.field_at(view.hex.chosen)
    assert asked is not None and asked.part == "offset 222"


def test_a_segment_is_opened_by_a_click(view: SegmentView) -> None:
    second = of(view.picture, "closed")[1]
    view.do(second.acts[0].name, second.acts[0].on)
    assert view.hex.page is not None
    assert str(second.acts[0].on) in view.hex.page.path.name
    view.do("open_segment", "77777")
    assert view.trouble == "there is no segment 77777 now"


# -- where it is shown -----------------------------------------------------------------------


def test_a_cell_shows_both_and_stays_small(view: SegmentView) -> None:
    view.do("ask_offset", 222)
    finish(view)
    view.do("open_found")
    shown = view._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in (
        shown[0] if isinstance(shown, tuple) else shown
    )
    assert list(view.both.children) == [view, view.hex]
    for each in (view, view.hex):
        assert len(json.dumps(each.get_state(), default=str, ensure_ascii=False)) < 67_000
        assert each.svg().startswith("<svg")


def test_the_chart_has_a_bar_for_each_segment(view: SegmentView, disk: Disk) -> None:
    figure = view.figure()
    found = directory.look(disk.directory)
    bars = {bar.name: list(bar.x or []) for bar in figure.data if bar.type == "bar"}
    assert bars["active"] == [found.segments[-1].size]
    assert bars["closed"] == [segment.size for segment in found.segments[:-1]]
    (ticks,) = [trace for trace in figure.data if trace.type == "scatter"]
    assert len(ticks.x) == sum(len(segment.offsets) for segment in found.segments)


@pytest.mark.parametrize("width", [356, 415, 842])
def test_on_a_narrow_page_more_segments_are_folded(
    view: SegmentView, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SceneWidget, "told_last", USUAL)  # and put back
    view.fit(width)
    view.do("ask_offset", 417)
    finish(view)
    is_sound(view.picture)
    assert view.picture is not None and view.picture.width == width


@pytest.mark.parametrize("number", [1, 30, 1000])
def test_a_ribbon_fits_into_the_narrowest_page(number: int) -> None:
    pieces = [
        SegmentPiece(directory.SegmentFiles(Path(f"{it:020}.log"), it, 100, 0, 0), state, 0)
        for it in range(number)
        for state in [SegmentState.DELETED if it % 3 else SegmentState.CLOSED]
    ]
    asked = {number * share // 10 for share in range(10)}
    found = slabs(pieces, asked, 304)
    assert found[-1].end <= 304.1
    assert all(one.end <= other.x for one, other in pairwise(found))


def test_a_notebook_keeps_its_still_under_the_widget_that_is_shown(view: SegmentView) -> None:
    data = view._repr_mimebundle_()
    shown = data["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert shown == view.both.model_id == view.shown_id
    assert data["image/svg+xml"] == view.still()["image/svg+xml"]


def test_a_view_that_is_closed_has_no_still_to_keep(view: SegmentView) -> None:
    """What writes stills asks a moment later, in a thread."""
    view.close()
    assert view.shown_id is None
