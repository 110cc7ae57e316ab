"""CrashDial: read, process, commit on a line; the learner sets after which the reader dies.

    ● read ───✗─── ● process ─────── ● commit ───────
    │ lost  20 ▇▇▇▇ │ lost  0        │ lost  0         over 20 runs each
    │ twice  0      │ twice 20 ▇▇▇▇  │ twice 0

    def die(after):                      a reader that dies once, after that step
        ...
        return {"lost": 1, "twice": 0}

    dial = CrashDial(die)
    dial.choose("process")
    dial.run()                           twenty times, as the button does
    dial.counts["process"]               {"runs": 20, "lost": 0, "twice": 20}

The button runs in a thread of its own, so the page stays free. The first error ends the runs; the
picture has it in a sentence, and the log has all of it.

Invariant: only whole runs are counted.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeAlias

from engine.errors import invalid_request
from widgets import controls
from widgets.scene import (
    ABOUT,
    Act,
    Scene,
    SceneShape,
    circle,
    fit,
    group,
    line,
    rect,
    text,
    width_of,
)
from widgets.stage import SceneWidget
from widgets.text_column import TextColumn

MARGIN, GAP, TOP = 16, 12, 56  # px; TOP: where the cards begin
HIGH, TALLY = 116, 34  # px: a card, and a counter in it
STEPS = ("read", "process", "commit")
COUNTED = {"lost": "lead bad", "twice": "watermark"}

Run: TypeAlias = Callable[[str], Mapping[str, int]]


class CrashDial(SceneWidget):
    ACTS: ClassVar[frozenset[str]] = frozenset({"choose", "start", "stop"})

    def __init__(
        self, run: Run, steps: Sequence[str] = STEPS, times: int = 20, *, title: str = "Crash"
    ) -> None:
        """`run`: lets a reader die once, after the step it is given."""
        super().__init__(name=title)
        self.steps, self.times = tuple(steps), times
        self.after = self.steps[0]
        self.counts = {step: {"runs": 0, "lost": 0, "twice": 0} for step in self.steps}
        self.running = False
        self._run, self._stop = run, False
        self.draw()

    def choose(self, step: str) -> None:
        """The reader dies after this step."""
        if step not in self.steps:
            raise invalid_request(f"there is no step {step!r}, only {', '.join(self.steps)}")
        with self.lock:
            if self.running:
                raise invalid_request("wait for the runs to end, or stop them")
            self.after = step
            self.draw()

    def start(self) -> None:
        """Run in a thread of its own."""
        if not self.running:
            self.later(self.run)

    def stop(self) -> None:
        """After the present run."""
        self._stop = True

    def run(self) -> dict[str, int]:
        """Let the reader die `times` times after the chosen step; what was counted there."""
        with self.lock:
            if self.running:
                raise invalid_request("it runs already")
            self.running, self._stop, self.trouble = True, False, ""
            counts = self.counts[self.after] = {"runs": 0, "lost": 0, "twice": 0}
            self.draw()
        try:
            while counts["runs"] < self.times and not self._stop:
                found = _checked(self._run(self.after))
                with self.lock:
                    counts["runs"] += 1
                    for name in COUNTED:
                        counts[name] += found[name]
                    self.draw()
        except Exception as error:
            logging.getLogger(__name__).exception("run(%r) failed", self.after)
            reason = (str(error).splitlines() or [""])[0]
            self.trouble = f"run({self.after!r}) failed: {type(error).__name__}: {reason}"
            raise invalid_request(self.trouble) from error
        finally:  # also if the cell is interrupted
            with self.lock:
                self.running = False
                self.draw()
        return dict(counts)

    def draw(self) -> None:
        with self.lock:
            done = self.counts[self.after]["runs"]
            doing = f"run {done + 1} of {self.times}" if done < self.times else "done"
            self.about = f"dies after {self.after}" + (f" · {doing}" if self.running else "")
            words = f"▸ {self.times} runs"
            stop = controls.button("stop", "■ stop", "stop after this run")
            start = controls.button("start", words, f"let it die {self.times} times")
            self.show(self._scene(), [stop if self.running else start])

    def _scene(self) -> Scene:
        room = (self.width - 2 * MARGIN + GAP) / len(self.steps)
        shapes = [line("path", MARGIN, 20, self.width - MARGIN, 20, look="link")]
        most = max([1, *(each[name] for each in self.counts.values() for name in COUNTED)])
        for place, step in enumerate(self.steps):
            x = MARGIN + place * room
            shapes += self._step(step, x, room, most)
        counts = self.counts[self.after]
        says = (
            f"Died after {self.after} in {counts['runs']} of {self.times} runs: "
            f"{counts['lost']} lost, {counts['twice']} twice."
        )
        if not counts["runs"]:
            says = f"The reader will die after {self.after}. Click a card to choose another step."
        column = TextColumn(MARGIN, TOP + HIGH + 20, self.width - 2 * MARGIN)
        shapes += column.write("says", says, "small", size=12).shapes
        read_aloud = says if not self.running else ""
        return Scene(
            self.width, column.y, shapes, title=f"{self.name}: where it dies", says=read_aloud
        )

    def _step(self, step: str, x: float, room: float, most: int) -> list[SceneShape]:
        here, counts, wide = step == self.after, self.counts[step], room - GAP
        label = (
            f"dies after {step}: {counts['lost']} lost and {counts['twice']} twice in "
            f"{counts['runs']} runs" + (", chosen" if here else "")
        )
        title = f"after {step}"
        if width_of(title, 12, bold=True) > wide - 18:
            title = fit(step, wide - 18, 12, bold=True)
        inside = [
            rect("box", 0, 0, wide, HIGH, 8, look="handle" if here else "card"),
            text("after", 10, 20, title, look="bold"),
            text("runs", 10, 36, f"{counts['runs']} of {self.times} runs", look="tiny"),
        ]
        for place, (name, look) in enumerate(COUNTED.items()):
            y = 54 + place * TALLY
            bar = (wide - 20) * counts[name] / most
            inside.append(text(name, 10, y + 2, f"{name} {counts[name]:,}", look="bold small"))
            inside.append(rect(f"{name} bar", 10, y + 8, bar, 8, 2, look=look))
        acts = () if self.running else (Act("choose", step, f"die after {step}"),)
        if here:
            inside.append(circle("gap", wide - 16, 20 - TOP, 10, look="blank"))
            inside.append(text("cross", wide - 16, 25 - TOP, "✗", ABOUT, look="head bad"))
        return [
            circle(f"step {step}", x + 8, 20, 7, look="leader"),
            text(f"name {step}", x, 46, fit(step, wide, 12, bold=True), look="bold"),
            group(f"place {step}", x, TOP, inside, label=label, acts=acts),
        ]


def _checked(found: Mapping[str, int]) -> Mapping[str, int]:
    if not isinstance(found, Mapping) or any(type(found.get(name)) is not int for name in COUNTED):
        raise TypeError(f"run gives {{'lost': a number, 'twice': a number}}, not {found!r}")
    return found
