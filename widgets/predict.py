"""Predict: one question before a cell runs, and what the engine made of it afterwards.

    guess = Predict("The leader is killed. What becomes of the record?", {
        "It is lost": "Two followers had a copy.",
        "It survives": "One of the followers leads now."})
    guess
    ...
    guess.outcome("It survives" if found else "It is lost")

Whoever has said what will happen sees what happens. So the question comes first, the outcome is
taken from what the engine did, and every answer, the wrong ones too, gets its sentence why.
"""

from collections.abc import Mapping

from widgets.quiz import Question, Quiz, Verdict


class Predict(Quiz):
    def __init__(self, question: str, answers: Mapping[str, str], *, hint: str = "") -> None:
        super().__init__(Question(question, answers, *([hint] if hint else [])), name="Predict")

    def outcome(self, truth: str) -> Verdict:
        """What happened, in the words of one of the answers."""
        return self.tell(1, truth)
