"""Electing a leader: the controller has noticed that one is gone, or is asked to choose anew."""

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from engine.broker.rules import Rules
from engine.controller.election import Elected, Rule, elect
from engine.model import NO_BROKER
from proof.challenges import drawn_cases
from proof.challenges.challenge import Challenge
from proof.challenges.drawn_cases import drawn
from proof.challenges.guard import RuleGuard
from proof.challenges.storm_trial import StormTrial


class ElectionRule(Protocol):
    def leader(
        self, candidates: tuple[int, ...], isr: tuple[int, ...], live: frozenset[int]
    ) -> int:
        """Which broker leads this partition from now on?

        `candidates`: the replicas that come into question, in the order in which they are
        preferred. `isr`: the replicas that are in sync, as ZooKeeper has it. `live`: the brokers
        that have a session and do not want to stop. Return one of `candidates`, or -1: the
        partition waits.
        """


def put_election(guard: RuleGuard) -> Rules:
    def ruled(
        replicas: Sequence[int],
        isr: Sequence[int],
        live: Collection[int],
        *,
        unclean: bool = False,
        rule: Rule = Rule.OFFLINE,
        **how: Any,
    ) -> Elected:
        if unclean:
            return elect(replicas, isr, live, unclean=True, rule=rule, **how)
        candidates = tuple(replicas[:1] if rule is Rule.PREFERRED else replicas)
        leader = guard.call("leader", int, candidates, tuple(isr), frozenset(live))
        if leader == NO_BROKER:
            return Elected(NO_BROKER, tuple(isr))
        if leader not in candidates:
            guard.refuse("leader", leader, f"one of {list(candidates)}, or -1")
        if leader not in isr:
            return Elected(leader, (leader,), clean=False)
        others = [each for each in replicas if each != leader]
        return elect((leader, *others), isr, {*live, leader}, rule=rule, **how)

    return Rules(elect=ruled)


CHALLENGE = Challenge(
    "elect-a-leader",
    "Who leads now?",
    "ISR",
    ElectionRule,
    StormTrial(
        put_election,
        known=(100,),
        small=(1024, 1052),
        cases=drawn(drawn_cases.election, int, "broker"),
    ),
    naive="""class Mine:
    def leader(self, candidates, isr, live):
        return next((broker for broker in candidates if broker in live), -1)
""",
    hints=(
        "A leader that lacks a committed record makes its followers cut it, too.",
        "Which replicas are known to have every committed record?",
        "The first candidate that lives and is in the ISR. If there is none, wait: somebody of the "
        "ISR may come back.",
    ),
    read="engine/controller/election.py, elect",
)
