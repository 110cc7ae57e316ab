"""Write one of Kafka's rules; the engine runs on it, and storms of faults try to break it.

    challenge --list                            the challenges
    challenge high-watermark                    the situation, the methods, a naive rule, a hint
    challenge high-watermark my_rule.py         judge the class in this file
    challenge high-watermark my_rule.py --seeds 50      by more storms in each stage
    challenge high-watermark my_rule.py --chaos         in real brokers, while chaos kills them

Exit status 0: the rule survives all storms. 1: a promise was broken, and the shortest run that was
found says which.
"""

import inspect
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.cli.chaos import chaos_run
from engine.cli.main import FAILED, UsageError, nearest, to_stderr
from engine.cli.options import above_zero, add_options, positive
from engine.errors import ApiException
from proof.challenges.challenge import SEEDS, Challenge
from proof.challenges.child import judge_apart
from proof.challenges.guard import RuleFailure
from proof.challenges.in_broker import real_rules
from proof.challenges.source import rule_in
from proof.challenges.storm_trial import StormTrial
from proof.challenges.table import CHALLENGES


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="of a challenge; see --list")
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path, help="with your rule")
    add_options(
        parser,
        {
            "list": "the challenges, in the order in which they are best taken",
            "seeds N": (positive, SEEDS, "attempts of each stage (default: %(default)s)"),
            "first N": (int, 0, "the seed of the first attempt (default: %(default)s)"),
            "chaos": "judge it in real broker processes, with a stock client",
            "seconds S": (above_zero, 20.0, "of chaos (default: %(default)g)"),
        },
    )


def run(options: Namespace) -> int:
    if options.list:
        for challenge in CHALLENGES.values():
            print(f"{challenge.name:<20} {challenge.title}")
        return 0
    if options.name is None:
        raise UsageError("name a challenge, or ask for all: challenge --list")
    if options.name not in CHALLENGES:
        raise UsageError(
            f"there is no challenge {options.name}{nearest(options.name, [*CHALLENGES])}"
        )
    challenge = CHALLENGES[options.name]
    if options.file is None:
        print(chapter(challenge))
        return 0
    return _in_processes(challenge, options) if options.chaos else _judge(challenge, options)


def _judge(challenge: Challenge, options: Namespace) -> int:
    try:
        rule = rule_in(options.file, challenge)
        say = _tell if sys.stderr.isatty() else lambda text: None
        score = judge_apart(challenge, rule, first=options.first, seeds=options.seeds, say=say)
    except RuleFailure as failure:
        print(failure)
        return FAILED
    print(score)
    return FAILED if score.broken else 0


def _in_processes(challenge: Challenge, options: Namespace) -> int:
    from proof.chaos.wait import Late

    chaos, trial = chaos_run(), challenge.trial
    try:
        real_rules({challenge.name: options.file})
        verdict = chaos.run(
            *(options.seconds, options.first, 3, None, to_stderr),
            rules={challenge.name: options.file},
            transactions=isinstance(trial, StormTrial) and trial.in_transactions,
        )
    except (RuleFailure, ApiException, Late) as failure:
        print(failure)
        return FAILED
    print(f"It holds in real brokers, too. {verdict}" if verdict.good else verdict)
    return int(not verdict.good)


def _tell(progress: object) -> None:
    to_stderr(str(progress))


def chapter(challenge: Challenge) -> str:
    """What one has to know to write the rule."""
    methods = []
    for name in challenge.methods:
        method = getattr(challenge.interface, name)
        told = inspect.cleandoc(method.__doc__ or "")
        methods.append(f"{name}{inspect.signature(method)}\n\n{_indented(told)}")
    stages = ", ".join(challenge.trial.stages)
    return "\n\n".join(
        [
            f"{challenge.title}  ({challenge.idea})",
            *methods,
            f"A naive rule, which is not enough:\n\n{_indented(challenge.naive.rstrip())}",
            f"Its stages: {stages}.",
            f"A first hint: {challenge.hints[0]}",
        ]
    )


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
