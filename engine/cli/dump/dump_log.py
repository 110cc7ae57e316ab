"""Print the files of a log, and check them, as Kafka's own DumpLogSegments does.

    .log          the batches, and their records with --print-data-log or --deep-iteration
    .index        offset -> position, compared with the .log file beside it
    .timeindex    timestamp -> offset, compared with it too
    .txnindex     the transactions that were aborted
    .snapshot     the producers' states
    .checkpoint   a snapshot of the metadata log, or bootstrap.checkpoint

The lines are those of Kafka 2.8's tool, so that scripts can read both. Errors in a file are printed
on stderr after all files, and the exit status is then 1. Keys and values are shown as text; bytes
that are not text are escaped. --offsets-decoder decodes the records of __consumer_offsets: groups,
offsets and assignments. --transaction-log-decoder decodes those of __transaction_state: ids, states
and partitions. --cluster-metadata-decoder decodes those of __cluster_metadata, as JSON.
"""

import argparse
import re
import sys
from pathlib import Path

from engine.cli.dump import files, indexes
from engine.cli.dump.files import DumpReport
from engine.cli.main import to_stderr
from engine.cli.options import Options, add_options
from engine.errors import ApiException

_NAME = re.compile(
    r"\d+(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)|(?:\d+-\d+|bootstrap)(\.checkpoint)"
)

SIZE = "a larger batch is reported as damaged (default: %(default)s)"
OPTIONS: Options = {
    "print-data-log": "print keys and values too; implies --deep-iteration",
    "offsets-decoder": "decode keys and values as records of __consumer_offsets",
    "transaction-log-decoder": "decode keys and values as records of __transaction_state",
    "cluster-metadata-decoder": "decode values as records of __cluster_metadata",
    "deep-iteration": "print each record, not only each batch",
    "skip-record-metadata": "of each record, print only key and value",
    "index-sanity-check": "of an index, check only what decides whether it is rebuilt at start",
    "verify-index-only": "compare an index with its log, without printing it",
    "max-message-size BYTES": (int, 5 * 1024 * 1024, SIZE),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    help = "the files to print, with commas or blanks between them"
    add_options(parser, {"files FILE": help}, required=True, nargs="+")
    add_options(parser, OPTIONS)


def run(options: argparse.Namespace) -> int:
    report = DumpReport()
    for path in [Path(name) for names in options.files for name in names.split(",") if name]:
        print(f"Dumping {path}")
        _dump(path, options, report)
    sys.stdout.flush()
    for line in report.lines:
        to_stderr(line)
    return int(report.failed)


def _dump(path: Path, options: argparse.Namespace, report: DumpReport) -> None:
    """One file. One that cannot be read does not keep the others from being printed."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        report.wrong(
            f"{path}: ignored, the name of a log's file is an offset and .log, .index, .timeindex, "
            ".txnindex or .snapshot, such as 00000000000000000000.log"
        )
        return
    dump = {
        ".log": files.dump_log,
        ".checkpoint": files.dump_log,
        ".index": indexes.dump_index,
        ".timeindex": indexes.dump_time_index,
        ".txnindex": files.dump_aborted,
        ".snapshot": files.dump_snapshot,
    }[match[1] or match[2]]
    try:
        dump(path, options, report)
    except BrokenPipeError:
        raise
    except OSError as error:
        report.wrong(f"{path}: {error.strerror}")
    except ApiException as error:
        report.wrong(error.message)
