"""Print what is in the files of a log, and check them, as Kafka's own DumpLogSegments does.

    .log          the batches, and their records with --print-data-log or --deep-iteration
    .index        offset -> position, compared with the .log file beside it
    .timeindex    timestamp -> offset, compared with it too
    .txnindex     the transactions that were aborted
    .snapshot     what the log remembers of each producer

The lines are those of Kafka 2.8's tool, so that what reads one reads the other. What is wrong
with a file is told on stderr when all files are printed, and the exit status is then 1. Keys and
values are shown as text; bytes that are not text are escaped. Those of __consumer_offsets are told
in words with --offsets-decoder: which group, how far, and who has which partitions. Those of
__transaction_state are with --transaction-log-decoder: whose, how far, and in which partitions.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.cli.dump_files import Report

_NAME = re.compile(r"\d+(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--files",
        required=True,
        nargs="+",
        metavar="FILE",
        help="what to print: one file, or several with commas or blanks between them",
    )
    parser.add_argument(
        "--print-data-log",
        action="store_true",
        help="print keys and values too; implies --deep-iteration",
    )
    parser.add_argument(
        "--offsets-decoder",
        action="store_true",
        help="print keys and values as what they are in __consumer_offsets",
    )
    parser.add_argument(
        "--transaction-log-decoder",
        action="store_true",
        help="print keys and values as what they are in __transaction_state",
    )
    parser.add_argument(
        "--deep-iteration", action="store_true", help="print each record, not only each batch"
    )
    parser.add_argument(
        "--skip-record-metadata",
        action="store_true",
        help="of each record, print only key and value",
    )
    parser.add_argument(
        "--index-sanity-check",
        action="store_true",
        help="of an index, check only what decides whether it is rebuilt at start",
    )
    parser.add_argument(
        "--verify-index-only",
        action="store_true",
        help="compare an index with its log, without printing it",
    )
    parser.add_argument(
        "--max-message-size",
        type=int,
        default=5 * 1024 * 1024,
        metavar="BYTES",
        help="a batch larger than this is taken for damage (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    from engine.cli.dump_files import Report

    report = Report()
    for path in [Path(name) for names in options.files for name in names.split(",") if name]:
        print(f"Dumping {path}")
        _dump(path, options, report)
    sys.stdout.flush()
    for line in report.lines:
        print(line, file=sys.stderr)
    return int(report.failed)


def _dump(path: Path, options: argparse.Namespace, report: "Report") -> None:
    """One file. One that cannot be read does not keep the others from being printed."""
    from engine.cli import dump_files, dump_indexes
    from engine.errors import KafkaError

    match = _NAME.fullmatch(path.name)
    if match is None:
        report.wrong(
            f"{path}: ignored, the name of a log's file is an offset and .log, .index, .timeindex, "
            ".txnindex or .snapshot, such as 00000000000000000000.log"
        )
        return
    dump = {
        ".log": dump_files.dump_log,
        ".index": dump_indexes.dump_index,
        ".timeindex": dump_indexes.dump_time_index,
        ".txnindex": dump_files.dump_aborted,
        ".snapshot": dump_files.dump_snapshot,
    }[match[1]]
    try:
        dump(path, options, report)
    except BrokenPipeError:
        raise
    except OSError as error:
        report.wrong(f"{path}: {error.strerror}")
    except KafkaError as error:
        report.wrong(error.message)
