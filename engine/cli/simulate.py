"""Try to break a simulated cluster: three brokers, clients, and many faults, all from a seed.

    simulate --seed 7                       one run; if an invariant breaks: what happened before
    simulate --seed 7 --rows 200            its last 200 lines in any case
    simulate --seeds 500                    seeds 0 to 499; --first 1000: 1000 to 1499
    simulate --minutes 60 --jobs 2          as many as fit into an hour, on two cores
    simulate --seeds 500 --step 3           seeds 0, 3, 6 ...: those with transactions
    simulate --defect join-unchecked --seeds 100    brokers with a known defect: is it found?
    simulate --kraft --seeds 300            without ZooKeeper: brokers and three controllers; in
                                            one seed of four the brokers are the controllers
    simulate --kraft --controllers 0 --seeds 300    ... in each seed
    simulate --quorum --seeds 300           a quorum of controllers instead of brokers

All decisions are made by the code of the real brokers; clock, network, disks and ZooKeeper are
simulated. The same seed gives the same run, event by event. Exit status 1: an invariant broke.
"""

import itertools
import math
import signal
import time
import traceback
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from multiprocessing import Pool
from typing import NamedTuple

from engine.cli.main import UsageError
from engine.cli.options import above_zero, add_options, positive
from proof.quorum.defects import QUORUM_DEFECTS
from proof.quorum.run import SECONDS_OF_STORM
from proof.quorum.trace import QuorumRecipe, QuorumTrace
from proof.storms.defects import DEFECTS
from proof.storms.invariants import Violation
from proof.storms.quorum_defects import OF_KRAFT_TOO
from proof.storms.run import SECONDS, Fork
from proof.storms.trace import Recipe, Trace

FORKS = "from AT seconds on, another seed decides; may be given several times"
ROWS = 60  # of a run that failed
BATCH = 8  # runs of each process between two checks of the time


class RunOutcome(NamedTuple):
    recipe: Recipe | QuorumRecipe
    failure: str  # "" if all was well
    simulated: int  # ms
    spent: float  # seconds of CPU


def add_arguments(parser: ArgumentParser) -> None:
    add_options(
        parser,
        {
            "seed N": (int, None, "one run, in detail"),
            "seeds N": (positive, None, "this many runs, with a summary"),
            "minutes M": (above_zero, None, "start runs for this many minutes"),
            "first N": (int, 0, "the first seed of many (default: 0)"),
            "step N": (positive, 1, "from one seed of many to the next (default: 1)"),
            "seconds S": (
                above_zero,
                None,
                "how long each storm is, in simulated time (default: "
                f"{SECONDS:g}, of a quorum {SECONDS_OF_STORM:g})",
            ),
            "fork AT:SEED": (_fork, [], FORKS),
            "defect NAME": (str, "", "give the brokers a defect"),
            "kraft": "without ZooKeeper: the metadata is in a quorum of controllers",
            "controllers N": (int, None, "of --kraft: 3, or 0 if the brokers are the controllers"),
            "quorum": "simulate a quorum of controllers; without --fork, --routine and --save",
            "rows N": (int, None, "lines of the diagram to print"),
            "routine": "also lines of periodic messages",
            "save FILE": "record the run: FILE.jsonl or .jsonl.gz",
            "jobs N": (positive, 1, "processes (default: 1)"),
        },
    )


def run(options: Namespace) -> int:
    of_brokers = OF_KRAFT_TOO if options.kraft else DEFECTS
    defects = QUORUM_DEFECTS if options.quorum else of_brokers
    if options.defect and options.defect not in defects:
        raise UsageError(
            f"there is no defect {options.defect}; there are {', '.join(sorted(defects))}"
        )
    if options.seed is None and options.seeds is None and options.minutes is None:
        raise UsageError("say which run: --seed N; or how many: --seeds N, --minutes M")
    if options.quorum and (options.fork or options.save or options.routine):
        raise UsageError("--fork, --routine and --save are for brokers, not for a quorum")
    if options.quorum and options.kraft:
        raise UsageError("--quorum has no brokers, and --kraft has: choose one of the two")
    if options.controllers is not None and (not options.kraft or options.controllers < 0):
        raise UsageError("--controllers 0, 1, 3 ... is for --kraft")
    if options.seed is None:
        return _many(options)
    return _one_quorum(options) if options.quorum else _one(options)


def _recipe(options: Namespace, seed: int) -> Recipe | QuorumRecipe:
    if options.quorum:
        return QuorumRecipe(seed, options.seconds or SECONDS_OF_STORM, options.defect)
    return _broker_recipe(options, seed)


def _broker_recipe(options: Namespace, seed: int) -> Recipe:
    forks = tuple(Fork(at, other) for at, other in options.fork)
    seconds = options.seconds or SECONDS
    quorum = {"kraft": options.kraft, "controllers": options.controllers}
    return Recipe(seed, seconds, options.defect, forks, **quorum)


def _fork(text: str) -> tuple[int, int]:
    at, _, seed = text.partition(":")
    try:
        return round(float(at) * 1000), int(seed)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not SECONDS:SEED") from None


# -- one run ---------------------------------------------------------------------------------


def _one(options: Namespace) -> int:
    trace = Trace(_broker_recipe(options, options.seed))
    rows = options.rows if options.rows is not None else ROWS * (trace.violation is not None)
    if rows:
        drawn = trace.diagram(routine=options.routine).splitlines()
        print("\n".join([drawn[0], *drawn[1:][-rows:]]))
    if options.save:
        trace.save(options.save)
    return _verdict(trace)


def _one_quorum(options: Namespace) -> int:
    recipe = QuorumRecipe(options.seed, options.seconds or SECONDS_OF_STORM, options.defect)
    trace = QuorumTrace(recipe)
    rows = options.rows if options.rows is not None else ROWS * (trace.violation is not None)
    for line in trace.lines[len(trace.lines) - rows :]:
        print(line)
    return _verdict(trace)


def _verdict(trace: Trace | QuorumTrace) -> int:
    if trace.violation is None:
        print(f"all is well, after {trace.end / 1000:.1f} simulated seconds")
        return 0
    print(trace.violation)
    return 1


# -- many ------------------------------------------------------------------------------------


def _many(options: Namespace) -> int:
    """The summary is printed also if Control-C ends the runs."""
    failed, simulated, spent, runs = 0, 0, 0.0, 0
    try:
        for outcome in _outcomes(options):
            runs, simulated, spent = runs + 1, simulated + outcome.simulated, spent + outcome.spent
            if outcome.failure:
                failed += 1
                print(f"seed {outcome.recipe.seed}: {outcome.failure}", flush=True)
                print(f"  {outcome.recipe.command}", flush=True)
    finally:
        minutes = simulated / 60_000
        print(
            f"{runs} runs, {failed} of them broke an invariant; {minutes:.1f} simulated minutes in "
            f"{spent:.1f} s of CPU ({minutes / max(spent, 1e-9):.1f} a second)"
        )
    return int(failed > 0)


def _outcomes(options: Namespace) -> Iterator[RunOutcome]:
    """The results of the seeds in turn, until there are enough or the time is over."""
    end = time.monotonic() + options.minutes * 60 if options.minutes is not None else math.inf
    wanted = itertools.count(options.first, options.step)
    seeds = itertools.islice(wanted, options.seeds)  # all, where no number is given
    with Pool(options.jobs, leave_control_c) as pool:
        while time.monotonic() < end:
            batch = list(itertools.islice(seeds, BATCH * options.jobs))
            if not batch:
                return
            yield from pool.imap(outcome_of, [_recipe(options, seed) for seed in batch])


def leave_control_c() -> None:
    """A terminal sends it to the processes of the pool, too: the command itself ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def outcome_of(recipe: Recipe | QuorumRecipe) -> RunOutcome:
    began, failure, run = time.process_time(), "", recipe.run()
    try:
        run.go()
    except Violation as violation:
        failure = str(violation)
    except Exception:  # a bug, which is told with its seed: the other seeds go on
        failure = f"this run ended with an error\n{traceback.format_exc()}"
    return RunOutcome(recipe, failure, run.world.now, time.process_time() - began)
