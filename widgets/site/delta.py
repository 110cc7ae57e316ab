"""The difference between two pictures, as little data as possible.

    before   [a, b, c, d]
    steps    [2, -1, c', 1]        two stay, one goes, a row comes, one stays
    after    [a, b, c', d]

A picture is a list of rows (`Scene.rows()["shapes"]`), and a row of a group contains rows. If only
the content of a group differs, there are steps for its content instead of the group. So a list of
steps has three kinds of items:

    2, -1                    a number: how many rows stay, or go
    ["rect", "box", ...]     a row, for it begins with a word
    [[1, -1, ...]]           steps within the next row, which is a group: a list in a list

Invariant: `applied(before, steps(before, after)) == after`.
"""

from difflib import SequenceMatcher

from widgets.scene import Row

CONTENT = 4  # the index of a row's content
Step = int | Row


def steps(before: list[Row], after: list[Row]) -> list[Step]:
    """The steps from one picture to the other. Rows are matched by their kind and key."""
    told: list[Step] = []
    match = SequenceMatcher(None, list(map(_name, before)), list(map(_name, after)), autojunk=False)
    for kind, left, right, low, high in match.get_opcodes():
        if kind == "equal":
            for one, other in zip(before[left:right], after[low:high], strict=True):
                _tell(told, one, other)
        else:
            _count(told, left - right)
            told += after[low:high]
    return told


def applied(before: list[Row], told: list[Step]) -> list[Row]:
    after: list[Row] = []
    place = 0  # in `before`
    for step in told:
        if isinstance(step, int):
            if step > 0:
                after += before[place : place + step]
            place += abs(step)
        elif isinstance(step[0], str):
            after.append(step)
        else:
            row = before[place]
            after.append([*row[:CONTENT], applied(row[CONTENT], step[0]), *row[CONTENT + 1 :]])
            place += 1
    return after


def _name(row: Row) -> tuple[str, str]:
    return row[0], row[1]


def _tell(told: list[Step], one: Row, other: Row) -> None:
    if one == other:
        _count(told, 1)
    elif _differ_inside(one, other):
        told.append([steps(one[CONTENT], other[CONTENT])])
    else:
        _count(told, -1)
        told.append(other)


def _differ_inside(one: Row, other: Row) -> bool:
    return (
        one[0] == "group"
        and min(len(one), len(other)) > CONTENT
        and one[:CONTENT] == other[:CONTENT]
        and one[CONTENT + 1 :] == other[CONTENT + 1 :]
    )


def _count(told: list[Step], number: int) -> None:
    """Join consecutive rows that stay, or go, to one number."""
    if not number:
        return
    if told and isinstance(told[-1], int) and (told[-1] > 0) == (number > 0):
        told[-1] += number
    else:
        told.append(number)
