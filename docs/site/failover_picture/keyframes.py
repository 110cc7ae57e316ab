"""Values over time, as keyframes of CSS: how a picture moves where no script runs.

    steps   from 2.0 s on it is 1, from 5.1 s on 0        ▔▔▔▔▁▁▁▁▔▔▔▔
    glides  until 2.0 s it is 0, at 2.4 s it is 40        ▁▁▁▁╱▔▔▔▔▔▔▔

Motions that are the same share their keyframes. Readers who prefer no motion see each
value as it is at one moment, the still, which every element also carries without an animation.

Invariant: a motion begins with the loop, and its times never fall.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from docs.site.failover_picture.failover import Counts

LONGEST = 700  # ms that a bar takes for its largest step

Values: TypeAlias = list[tuple[float, str]]  # when, in ms, and a CSS declaration


class Motion(NamedTuple):
    """The animation of an element."""

    name: str  # its class
    still: str  # its style when nothing moves


class Animation:
    def __init__(self, length: float, still: float) -> None:
        self.length, self.still = length, still  # ms
        self._names: dict[tuple[str, str], str] = {}  # by keyframes and pace

    def steps(self, values: Values) -> Motion:
        """Each holds until the next."""
        return self._named(values, "step-end")

    def glides(self, values: Values) -> Motion:
        """From each to the next, evenly."""
        return self._named([*values, (self.length, values[-1][1])], "linear")

    def shown(self, start: float, end: float) -> Motion:
        """Only for that while."""
        before = [(0.0, "opacity:0")] if start > 0 else []
        after = [(end, "opacity:0")] if end < self.length else []
        return self.steps([*before, (start, "opacity:1"), *after])

    def css(self) -> str:
        seconds = f"{self.length / 1000:g}s"
        rules = [
            f"@keyframes {name}{{{frames}}}.{name}{{animation:{name} {seconds} {pace} infinite}}"
            for (frames, pace), name in self._names.items()
        ]
        return (
            "".join(rules) + "@media (prefers-reduced-motion:reduce){*{animation:none!important}}"
        )

    def _named(self, values: Values, pace: str) -> Motion:
        times = [at for at, _ in values]
        assert times[0] == 0, "a motion begins with the loop"
        assert times == sorted(times), f"the times of a motion fall: {times}"
        frames = "".join(f"{100 * at / self.length:.2f}%{{{style}}}" for at, style in values)
        name = self._names.setdefault((frames, pace), f"m{len(self._names)}")
        return Motion(name, [style for at, style in values if at <= self.still][-1])


def moving(counts: Counts, style: Callable[[int], str]) -> Values:
    """Each change takes a moment, a large one a longer one."""
    values: Values = [(0, style(counts[0][1]))]
    for (_, old), (at, new) in pairwise(counts):
        start = max(at, values[-1][0] + 1)
        takes = min(90 + 14 * abs(new - old), LONGEST)
        values += [(start, style(old)), (start + takes, style(new))]
    return values
