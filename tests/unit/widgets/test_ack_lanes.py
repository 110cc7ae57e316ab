"""AckLanes: what comes again in each lane, in a wide picture and in a narrow one."""

import pytest

from widgets import AckLanes, AckRun
from widgets.scene import Scene

SEVEN = range(7)
RUNS = {
    "RECORD": AckRun(SEVEN, range(1, 7), range(6, 10)),
    "TIME": AckRun(SEVEN, [], range(10)),
    "MANUAL_IMMEDIATE": AckRun(SEVEN, [*range(1, 7), 7], range(7, 10)),
}


def picture(runs: dict[str, AckRun], width: int = 960) -> Scene:
    lanes = AckLanes(runs)
    lanes.fit(width)
    assert lanes.picture is not None
    return lanes.picture


def test_what_comes_again_is_what_both_have_processed() -> None:
    assert [run.words for run in RUNS.values()] == [
        "1 comes again",
        "7 come again",
        "none comes again",
    ]


def test_a_commit_ahead_of_the_work_loses_records() -> None:
    run = AckRun(processed=range(3), commits=[5], again=range(5, 10))
    assert (run.twice, run.lost, run.words) == ([], [3, 4], "none comes again, 2 lost")


def test_a_lane_has_the_commits_and_both_processes() -> None:
    lane = picture(RUNS)["lane RECORD"]
    assert lane.label == "RECORD: 1 comes again; committed was 6"
    looks = {it.key: it.look for it in lane.content if not isinstance(it, str)}
    assert [looks[f"commit {each}"] for each in (5, 6)] == ["watermark", "watermark thick"]
    assert [looks[f"second {each}"] for each in (6, 7)] == ["hop", "follower"]
    assert "first 7" not in looks
    assert picture(RUNS)["lane TIME"].label.endswith("committed was None")


@pytest.mark.parametrize("width", [280, 400, 960])
def test_nothing_leaves_the_picture(width: int) -> None:
    drawn = picture({**RUNS, "LONG": AckRun(range(200), [100], range(100, 220))}, width)
    for shape in drawn.all():
        if shape.kind == "rect":
            assert 0 <= shape.where[0] <= shape.where[0] + shape.where[2] <= width, shape.key


def test_without_a_run_it_is_a_legend() -> None:
    assert picture({})["legend died"].content == "died"
