"""A table after a batch, beside what it was before it."""

from datetime import date, datetime
from types import SimpleNamespace

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.stream import table
from widgets.stream.table import TableDiff, compared, rows_of, text


def seen(told):
    """Marks and cells, with what stood there before."""
    return [(it.mark, *it.cells, *(old for _, old in it.was)) for it in told.lines]


def people(**counts):
    return [{"name": name, "count": count} for name, count in counts.items()]


def test_new_changed_and_gone_rows_are_marked():
    told = compared(people(ada=3, bob=1, eve=2), people(kim=1, bob=1, ada=5), since=6)
    assert seen(told) == [
        ("changed", "ada", "5", "3"),
        ("", "bob", "1"),
        ("gone", "eve", "2"),
        ("new", "kim", "1"),
    ]
    assert (told.columns, told.count, told.marked, told.since) == (("name", "count"), 3, 3, 6)


def test_nothing_is_marked_where_nothing_was_seen_before():
    assert {mark for mark, *_ in seen(compared(None, people(ada=3)))} == {""}
    assert {mark for mark, *_ in seen(compared([], people(ada=3)))} == {"new"}


def test_a_row_is_named_by_as_many_columns_as_it_takes():
    def windows(**counts):
        return [{"window": name[0], "key": name[1:], "n": n} for name, n in counts.items()]

    told = compared(windows(a1=1, a2=1), windows(a2=4, b1=1, a1=1))
    assert seen(told) == [
        ("", "a", "1", "1"),
        ("changed", "a", "2", "4", "1"),
        ("new", "b", "1", "1"),
    ]


def test_rows_that_are_the_same_are_counted():
    one = [{"word": "a"}]
    assert seen(compared(one * 2, one * 3)) == [("", "a"), ("", "a"), ("new", "a")]
    assert seen(compared(one * 2, one)) == [("", "a"), ("gone", "a")]


def test_of_many_rows_those_that_changed_are_kept():
    before = [{"id": number, "n": 0} for number in range(100)]
    after = [dict(it, n=int(it["id"] in (7, 50))) for it in before]
    told = compared(before, after)
    assert len(told.lines) == table.MOST
    assert [it.cells[0] for it in told.lines if it.mark] == ["7", "50"]
    assert [it.cells[0] for it in told.lines][:3] == ["0", "1", "2"]  # numbers by their size
    assert (told.count, told.marked) == (100, 2)


def test_columns_may_come_and_go():
    told = compared([{"a": 1}], [{"a": 1, "b": 2}])
    assert seen(told) == [("changed", "1", "2", "null")]


keys = st.text("ab1", max_size=2)
tables = st.dictionaries(keys, st.integers(0, 2), max_size=5)


@given(before=tables, after=tables)
def test_marks_undone_give_the_table_before(before, after):
    told = compared(
        [{"k": k, "v": v} for k, v in before.items()], [{"k": k, "v": v} for k, v in after.items()]
    )
    undone = {}
    for line in told.lines:
        if line.mark != table.NEW:
            cells = dict(enumerate(line.cells)) | dict(line.was)
            undone[cells[0]] = int(cells[1])
    assert undone == before
    assert TableDiff.of(told.plain()) == told


def test_rows_come_as_dicts_as_sparks_rows_or_in_a_data_frame():
    rows = people(ada=3, bob=1)
    spark_rows = [SimpleNamespace(asDict=lambda row=row: row) for row in rows]
    frame = SimpleNamespace(collect=lambda: spark_rows)
    for answer in (rows, spark_rows, frame, pandas.DataFrame(rows)):
        assert rows_of(answer) == rows


NOON = datetime(2026, 11, 22, 12, 0, 30)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (None, "null"),
        (float("nan"), "null"),
        (pandas.NaT, "null"),
        (3, "3"),
        (True, "True"),
        (2.5, "2.5"),
        (1 / 3, "0.333333"),
        (12345678.9, "12,345,679"),
        (b"tea", "tea"),
        (bytearray(b"\xff"), "\ufffd"),
        (NOON, "12:00:30"),
        (NOON.replace(microsecond=250_000), "12:00:30.250"),
        (pandas.Timestamp(NOON), "12:00:30"),
        (datetime(2026, 11, 22), "2026-11-22"),
        (date(2026, 11, 22), "2026-11-22"),
        ({"start": NOON, "end": NOON.replace(second=40)}, "12:00:30 – 12:00:40"),
        ({"start": 1, "end": 2, "step": 1}, "{'start': 1, 'end': 2, 'step': 1}"),
        ([1, 2], "[1, 2]"),
        ("x" * 50, "x" * 39 + "…"),
    ],
)
def test_a_cell_is_a_few_words(cell, words):
    assert text(cell) == words


def test_a_window_is_a_row_in_a_row():
    window = {"start": NOON, "end": NOON.replace(second=40)}
    assert text(SimpleNamespace(asDict=lambda: window)) == "12:00:30 – 12:00:40"
