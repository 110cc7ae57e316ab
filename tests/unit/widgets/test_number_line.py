"""The line on which a number is guessed: places, steps, and what is near enough."""

import pytest

from widgets.estimate.number_line import NumberLine, NumberRange, said

SECONDS = NumberLine(0.1, 100, "s", within=1.3)
RECORDS = NumberLine(0, 100, "records", within=10)


@pytest.mark.parametrize("number", [0.1, 0.25, 1, 4.2, 47, 100])
def test_the_value_at_the_place_of_a_number_is_the_number(number: float) -> None:
    assert SECONDS.value(SECONDS.place(number)) == pytest.approx(number)


@pytest.mark.parametrize("line", [SECONDS, RECORDS])
def test_the_arrows_lead_from_end_to_end_and_back_and_stop_there(line: NumberLine) -> None:
    up, number = [line.least], line.least
    while number < line.most:
        number = line.next_to(number, 1)
        assert number > up[-1]
        up.append(number)
    assert line.next_to(line.most, 1) == line.most
    down = [line.most]
    while down[-1] > line.least:
        down.append(line.next_to(down[-1], -1))
    assert up == down[::-1]
    assert line.next_to(line.least, -1) == line.least


def test_the_ticks_of_a_logarithmic_line_are_1_2_and_5() -> None:
    assert SECONDS.ticks() == [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
    assert NumberLine(50, 5000, "ms", 1.2).ticks() == [50, 100, 200, 500, 1000, 2000, 5000]
    assert RECORDS.ticks() == [0, 20, 40, 60, 80, 100]


@pytest.mark.parametrize(
    ("line", "guess", "truth", "is_right", "off"),
    [
        (SECONDS, 4, (4, 4), True, ""),
        (SECONDS, 4, (5.2, 5.2), True, "1.3 times too small"),
        (SECONDS, 4, (5.3, 5.3), False, "1.3 times too small"),
        (SECONDS, 10, (4, 4), False, "2.5 times too large"),
        (SECONDS, 1.2, (1.02, 1.49), True, ""),
        (SECONDS, 2, (1.02, 1.49), False, "1.3 times too large"),
        (SECONDS, 100, (1, 1), False, "100 times too large"),
        (SECONDS, 1, (0, 0), False, "1 too large"),
        (RECORDS, 41, (51, 51), True, "10 too small"),
        (RECORDS, 40, (51, 51), False, "11 too small"),
        (RECORDS, 0, (0, 0), True, ""),
    ],
)
def test_a_guess_is_right_if_it_is_near_enough(
    line: NumberLine, guess: float, truth: tuple[float, float], is_right: bool, off: str
) -> None:
    assert line.is_right(guess, NumberRange(*truth)) == is_right
    assert line.off(guess, NumberRange(*truth)) == off


@pytest.mark.parametrize(
    ("number", "words"), [(503.2, "503"), (1200, "1,200"), (4.25, "4.25"), (0.1, "0.1"), (0, "0")]
)
def test_a_number_is_said_as_somebody_would_say_it(number: float, words: str) -> None:
    assert said(number) == words
