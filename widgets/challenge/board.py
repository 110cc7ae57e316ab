"""ChallengeBoard: all challenges, and how far the learner's best rule has come in each.

    What is committed?            high watermark    ▣ calm ▣ slow network ▢ crashes ▢ everything
    Who has to leave the ISR?     ISR               ▢ ...

It is read from the learner's progress, which `chapter.run` writes.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proof.challenges.challenge import Challenge
from proof.challenges.table import CHALLENGES
from widgets.progress import record
from widgets.progress.picture import ProgressPicture
from widgets.scene import ABOUT, UP_TO, Scene, SceneShape, fit, group, rect, text

MARGIN, ROW = 16, 30
TITLE, STAGE, GAP = 330, 26, 5  # px
SIGN = "✓"


class ChallengeBoard(ProgressPicture):
    def __init__(self, path: Path | None = None) -> None:
        super().__init__(path, "Challenges")

    def draw(self) -> None:
        with self.lock:
            kept = self._kept["labs"].get(record.CHALLENGES, {})
            shapes = [
                group(
                    name, MARGIN, 30 + ROW * place, list(self._row(challenge, kept.get(name, {})))
                )
                for place, (name, challenge) in enumerate(CHALLENGES.items())
            ]
            held = sum(bool(kept.get(name, {}).get("holds")) for name in CHALLENGES)
            self.about = f"{held} of {len(CHALLENGES)} hold"
            height = 30 + ROW * len(CHALLENGES)
            self.show(Scene(self.width, height, shapes, title=f"Challenges: {self.about}"))

    def _row(self, challenge: Challenge, facts: Mapping[str, Any]) -> Iterator[SceneShape]:
        stages = challenge.trial.stages
        stage, holds = int(facts.get("stage", 0)), bool(facts.get("holds"))
        room = self.width - 2 * MARGIN
        wide = len(stages) * (STAGE + GAP)
        right = room - wide
        is_roomy = room > TITLE + wide + 240
        yield text("title", 0, 0, fit(challenge.title, right - 90, 13, bold=True), look="bold")
        if is_roomy:
            yield text("name", TITLE, 0, challenge.name, look="mono tiny")
        for place, name in enumerate(stages):
            x, is_passed = right + place * (STAGE + GAP), place < stage
            is_broken = bool(facts) and place == stage
            look = "alive" if is_passed else "down" if is_broken else "out"
            told = "passed" if is_passed else "broken here" if is_broken else "not reached"
            sign = SIGN if is_passed else "✗" if is_broken else ""
            inside = [rect("box", 0, -13, STAGE, 18, 4, look=look)]
            if sign:
                letter = "letter leader" if is_passed else "bold bad"
                inside.append(text("sign", STAGE / 2, 1, sign, ABOUT, look=letter))
            yield group(name, x, 0, inside, label=f"{challenge.title} {name}: {told}")
        said = "" if not facts else f"{facts['survived']} survived"
        said = "holds" if holds else said
        yield text("said", right - 10, 0, said, UP_TO, look="bold ok" if holds else "soft")
