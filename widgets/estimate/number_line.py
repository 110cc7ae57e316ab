"""The line on which a number is guessed: from its least to its largest value, and how far off is
still right.

    NumberLine(50, 5000, "ms", within=1.2)     logarithmic; right: at most 1.2 times off
    NumberLine(0, 100, "records", within=10)   begins at 0, so it is linear; right: at most 10 off

Invariant: `value(place(x))` is x, rounded to what somebody would say.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

NICE = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)  # steps within a decade
TICKS = (1, 2, 5)
STEPS = 20  # of a linear line
ROUND = 1e-9  # a number that was computed may be so much off, as a share


class NumberRange(NamedTuple):
    """What happened: one number, or from the least to the largest of several runs."""

    least: float
    most: float


def said(number: float) -> str:
    """As somebody would say it: 503, 4.3, 1,200."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


@dataclass(frozen=True)
class NumberLine:
    least: float
    most: float
    unit: str
    within: float  # a factor, or a difference if the line begins at 0

    @property
    def is_linear(self) -> bool:
        return self.least == 0

    @property
    def rule(self) -> str:
        """How far off is still right."""
        if self.is_linear:
            return f"Right is what is at most {said(self.within)} off."
        return f"Right is what is at most {said(self.within)} times too small or too large."

    def words(self, number: float) -> str:
        return f"{said(number)} {self.unit}"

    def words_of(self, truth: NumberRange) -> str:
        least, most = said(truth.least), said(truth.most)
        return f"{least} {self.unit}" if least == most else f"{least} to {most} {self.unit}"

    # -- places -------------------------------------------------------------------------------

    def place(self, number: float) -> float:
        """From 0 to 1; a number beyond an end is at that end."""
        number = min(max(number, self.least), self.most)
        if self.is_linear:
            return number / self.most
        return math.log(number / self.least) / math.log(self.most / self.least)

    def value(self, place: float) -> float:
        """What stands there, in two digits."""
        place = min(max(place, 0.0), 1.0)
        if self.is_linear:
            return float(round(place * self.most))
        exact = self.least * (self.most / self.least) ** place
        return min(max(float(f"{exact:.2g}"), self.least), self.most)

    def steps(self) -> list[float]:
        """Where the arrows stop."""
        if self.is_linear:
            step = max(1, round(self.most / STEPS))
            return [*range(0, int(self.most), step), self.most]
        return [self.least, *self._decades(NICE), self.most]

    def ticks(self) -> list[float]:
        if self.is_linear:
            return [self.most * part / 5 for part in range(6)]
        return [*self._decades(TICKS, ends=True)]

    def _decades(self, parts: tuple[float, ...], *, ends: bool = False) -> Iterator[float]:
        first, last = math.floor(math.log10(self.least)), math.floor(math.log10(self.most))
        for decade in range(first, last + 1):
            for part in parts:
                number = float(f"{part * 10.0**decade:.3g}")
                inside = self.least < number < self.most
                if inside or (ends and number in (self.least, self.most)):
                    yield number

    def next_to(self, number: float, direction: int) -> float:
        """The next step, up (1) or down (-1)."""
        if direction > 0:
            return min((it for it in self.steps() if it > number * (1 + ROUND)), default=self.most)
        return max((it for it in self.steps() if it < number * (1 - ROUND)), default=self.least)

    # -- distances ----------------------------------------------------------------------------

    def right_from(self, guess: float) -> NumberRange:
        """What may happen, for the guess to be right."""
        if self.is_linear:
            return NumberRange(guess - self.within, guess + self.within)
        return NumberRange(guess / self.within, guess * self.within)

    def is_right(self, guess: float, truth: NumberRange) -> bool:
        least, most = self.right_from(guess)
        return truth.most >= least * (1 - ROUND) and truth.least <= most * (1 + ROUND)

    def off(self, guess: float, truth: NumberRange) -> str:
        """In words; "" if it is not off."""
        if truth.least <= guess <= truth.most:
            return ""
        nearest = truth.least if guess < truth.least else truth.most
        way = "too small" if guess < nearest else "too large"
        if self.is_linear or not nearest:
            return f"{said(abs(guess - nearest))} {way}"
        factor = max(guess / nearest, nearest / guess)
        return f"{said(round(factor, 1 if factor < 10 else 0))} times {way}"
