"""Kill, pause and cut off brokers of a real cluster, and check what happens to clients' records.

    chaos --seconds 60 --seed 7

It starts its own cluster: ZooKeeper (with --kraft: controllers), and brokers that are processes.
confluent-kafka's clients write (acks=all, idempotent) and read all the time. In the end every
replica is restored, everything is read and compared with the clients' history, offset by offset:
was a record lost, moved, doubled, reordered, or never sent? The seed decides the faults; their
effects depend on the machine, too.
Each broker has three log directories, and one of them fails now and then: it is gone, it is full,
or it can't be flushed. Sometimes it comes back empty.

With --transactions copiers read what is written, and write each record twice, and their offsets,
in one transaction. They crash now and then. Is each record copied once, is a transaction there as a
whole or not at all, and do the offsets agree with the copies? Other clients send and poll in random
transactions, which are checked as Jepsen does: lost writes, aborted reads, polls that go back or
leave something out, circles ... --history FILE writes them down in Jepsen's EDN. With --late the
end of a transaction comes a second time now and then, in a later transaction: Kafka 2.8 loses half
of a transaction then, and the run tells which (docs/transactions.md).

With --switch the cluster moves from PLAINTEXT to SASL_SSL meanwhile, by rolling restarts, and its
clients with it. The run takes until that is done, if N seconds are not enough.

Exit status 1: something was wrong. With --data the cluster's files are kept.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import ModuleType

from engine.cli.main import UsageError, to_stderr
from engine.cli.options import Options, add_options

CONTROLLERS = 3  # by default
OPTIONS: Options = {
    "seconds N": (float, 60.0, "default: %(default)g"),
    "seed S": (int, 0, "of the faults (default: %(default)s)"),
    "brokers N": (int, 3, "how many (default: %(default)s)"),
    "zookeepers N": (int, 1, "servers of ZooKeeper; several have faults, too (default: 1)"),
    "kraft": "without ZooKeeper: controllers have faults, too",
    "controllers N": (int, None, "with --kraft: how many (default: 3); 0: the brokers are, too"),
    "data DIR": (Path, None, "keep the cluster's files here; an empty directory"),
    "transactions": "clients that read and write in transactions: copiers, and random ones",
    "history FILE": (Path, None, "with --transactions: the random ones, in Jepsen's EDN"),
    "late": "with --transactions: requests that end a transaction come again, in a later one",
    "switch": "from PLAINTEXT to SASL_SSL by rolling restarts, with clients that write and read",
}


def add_arguments(parser: ArgumentParser) -> None:
    add_options(parser, OPTIONS)


def run(options: Namespace) -> int:
    from proof.chaos.wait import Late

    if options.brokers < 1 or options.seconds <= 0:
        raise UsageError("chaos needs a broker or more, and some seconds")
    if options.switch and (options.transactions or options.brokers < 2):
        raise UsageError("--switch needs two brokers or more, and goes without --transactions")
    if (options.history is not None or options.late) and not options.transactions:
        raise UsageError("--history and --late are of transactions: they need --transactions")
    if options.controllers is not None and not options.kraft:
        raise UsageError("--controllers is of clusters without ZooKeeper: it needs --kraft")
    if options.kraft and (options.switch or options.zookeepers != 1):
        raise UsageError("--switch and --zookeepers are of clusters with ZooKeeper, not of --kraft")
    if options.data is not None and options.data.exists() and any(options.data.iterdir()):
        raise UsageError(f"{options.data} is not empty: it may contain another cluster")
    if options.history is not None:
        _check_history(options.history)
    chaos = chaos_run()
    try:
        verdict = chaos.run(
            *(options.seconds, options.seed, options.brokers, options.data, to_stderr),
            zookeepers=options.zookeepers,
            transactions=options.transactions,
            switch=options.switch,
            history=options.history,
            late=options.late,
            controllers=_controllers(options),
        )
    except Late as late:
        print(f"the cluster did not recover: {late}")
        return 1
    print(verdict)
    return int(not verdict.good)


def _check_history(path: Path) -> None:
    """A file that cannot be written is told before the run, whose verdict would be lost."""
    try:
        path.open("a").close()
    except OSError as error:
        why = f"{error.strerror}; name a file in a directory that is there"
        raise UsageError(f"--history {path} cannot be written: {why}") from error


def chaos_run() -> ModuleType:
    """The module that runs chaos. It imports the stock client, which need not be installed."""
    try:
        from proof.chaos import run
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith("confluent_kafka"):
            raise
        raise UsageError(
            "chaos needs a stock client, which is not installed: pip install confluent-kafka"
        ) from None
    return run


def _controllers(options: Namespace) -> int | None:
    if not options.kraft:
        return None
    return CONTROLLERS if options.controllers is None else int(options.controllers)
