"""Lines are broken between words, and no line is wider than its room."""

import pytest

from widgets.text_width import fit, width_of, wrap

WORDS = "broker 2 watches /brokers/topics/orders/partitions/0/state and nothing else"


@pytest.mark.parametrize("width", [60, 100, 180, 1000])
def test_no_line_is_wider_than_its_room_and_no_letter_is_lost(width):
    lines = wrap(WORDS, width, 11)
    assert all(width_of(line, 11) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == WORDS.replace(" ", "")


def test_a_line_ends_between_words_where_it_can():
    assert wrap("one two three", width_of("one two"), 12) == ["one two", "three"]


def test_a_path_is_broken_after_a_slash():
    assert wrap("/brokers/topics/orders", width_of("/brokers/topi"), 12)[0] == "/brokers/"


def test_no_words_are_one_empty_line():
    assert wrap("", 100) == [""]


def test_what_does_not_fit_ends_with_dots_within_its_room():
    assert fit("orders", 100) == "orders"
    cut = fit(WORDS, 100)
    assert cut.endswith("…") and width_of(cut) <= 100


def test_bold_is_wider():
    assert width_of("orders", bold=True) > width_of("orders")


def test_letters_of_one_width_are_all_as_wide():
    assert width_of("iii", mono=True) == width_of("mmm", mono=True)
    lines = wrap('{"partitions": {"0": [1, 2, 3]}}', 100, 11, mono=True)
    assert len(lines) > 2
    assert all(width_of(line, 11, mono=True) <= 100 for line in lines)
