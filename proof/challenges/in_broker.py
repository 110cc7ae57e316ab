"""A learner's rules in a real broker: `broker --rule high-watermark=my_rule.py`.

    Cluster(rules={"high-watermark": Mine}) ──> --rule NAME=FILE of each broker ──> real_rules

The rule is called through a guard, as in the simulator. If it fails by itself, the broker says so
in the last line of its log, and ends as if it were killed: a cluster tells that line
(`Cluster.deaths`), and chaos finds it.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from engine.broker.rules import KAFKAS, Rules
from proof.challenges.guard import RuleFailure, RuleGuard
from proof.challenges.source import rule_in
from proof.challenges.table import CHALLENGES
from proof.challenges.trial import made

FAILED = "the rule "  # a broker's last line begins so if its rule has failed
END_STATUS = 1  # of the process


class EndingGuard(RuleGuard):
    """Ends the process, and says why."""

    def __init__(self, name: str, rule: object) -> None:
        super().__init__(rule)
        self._name = name

    def _fail(self, text: str) -> NoReturn:
        print(f"{FAILED}{self._name} has failed: {text}.", flush=True)
        os._exit(END_STATUS)


def real_rules(files: Mapping[str, Path]) -> Rules:
    """Kafka's rules, but for those of these challenges. RuleFailure if that is not possible."""
    rules = KAFKAS
    for name, file in files.items():
        if name not in CHALLENGES:
            raise RuleFailure(f"There is no rule {name}, only {', '.join(real_names())}.")
        put_rule = CHALLENGES[name].trial.put
        if put_rule is None:
            raise RuleFailure(
                f"No broker of a cluster takes the rule {name}: it is judged without one. "
                f"Those that are taken: {', '.join(real_names())}."
            )
        guard = EndingGuard(name, made(rule_in(file, CHALLENGES[name])).rule)
        put = put_rule(guard)._asdict()
        changed = {part: it for part, it in put.items() if it is not getattr(KAFKAS, part)}
        if taken := [part for part in changed if getattr(rules, part) is not getattr(KAFKAS, part)]:
            raise RuleFailure(f"The rule {name} changes the {taken[0]}, as another one does.")
        rules = rules._replace(**changed)
    return rules


def real_names() -> list[str]:
    """The challenges whose rule a real broker can have."""
    return [name for name, it in CHALLENGES.items() if it.trial.put is not None]
