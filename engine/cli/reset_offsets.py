"""`consumer-groups --reset-offsets`: new offsets for a group.

    scope      --topic orders | --topic orders:0,1 | --all-topics     for which partitions
    scenario   --to-earliest, --shift-by -10, --to-datetime ...       to which offset of each
    outcome    --dry-run (print them), --execute (and commit them), --export (as CSV)

An offset beyond either end of a log becomes that end. A group with members is refused: they would
not notice the reset, and commit their own offsets over it.
"""

import csv
import re
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from engine.cli.main import UsageError, to_stderr
from engine.cli.options import add_options, is_given
from engine.cli.table import Row, table
from engine.client.admin import group_requests
from engine.client.admin.requests import find_offset
from engine.client.cluster import ClusterClient
from engine.client.consuming.offset_lookup import EARLIEST, LATEST
from engine.client.offset_and_metadata import OffsetAndMetadata
from engine.config.topic import INT_MAX
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.model import TopicPartition

Offsets = dict[TopicPartition, int]

SCENARIOS = (
    *("to-earliest", "to-latest", "to-current", "to-offset"),
    *("shift-by", "to-datetime", "by-duration", "from-file"),
)
TOPIC = "of which topic, or which of its partitions; may be given repeatedly"
DATETIME = "to the first record from this time on, 2021-04-19T08:00:00.000; UTC, or with a zone"
DURATION = "to the first record that is not older than this: PnDTnHnMnS, such as PT1H30M"
OUTCOMES = {
    "dry-run": "print the new offsets, and commit nothing",
    "execute": "commit the new offsets",
}
WIDTHS = [30, 30, 10]


def add_scenarios(parser: ArgumentParser) -> None:
    all_topics = "--reset-offsets: all for which there are offsets"
    add_options(parser, {"topic T[:0,1]": (str, [], TOPIC), "all-topics": all_topics})
    add_options(
        parser.add_mutually_exclusive_group(),
        {
            "to-earliest": "to the oldest record that is there",
            "to-latest": "to the end, after the newest record",
            "to-current": "to the committed offset, or to the end if there is none",
            "to-offset N": (int, None, "to this offset"),
            "shift-by N": (int, None, "forward by this many records; -10: back by ten"),
            "to-datetime D": (instant, None, DATETIME),
            "by-duration D": (duration, None, DURATION),
            "from-file F": (Path, None, "to the offsets of this CSV file"),
        },
    )
    add_options(parser.add_mutually_exclusive_group(), OUTCOMES)
    add_options(parser, {"export": "print the new offsets as CSV"})


def check(options: Namespace) -> None:
    """Refuse options that do not say which partitions to reset, and to which offset."""
    if not any(is_given(options, name) for name in SCENARIOS):
        names = ", ".join(f"--{name}" for name in SCENARIOS)
        raise UsageError(f"--reset-offsets needs one of {names}")
    if options.topic and options.all_topics:
        raise UsageError("--topic and --all-topics: give one of them")
    if not (options.topic or options.all_topics or options.from_file):
        raise UsageError("--reset-offsets needs --topic or --all-topics")
    if not (options.dry_run or options.execute or options.export):
        text = "WARN: without --execute nothing is committed; --dry-run turns this warning off"
        to_stderr(text)


def reset(cluster: ClusterClient, names: Sequence[str], options: Namespace) -> int:
    plans, busy = {}, []
    for name in names:
        state = group_requests.describe(cluster, name).state
        if state in (group_requests.EMPTY, group_requests.DEAD):
            plans[name] = _plan(cluster, name, len(names) == 1, options)
        else:
            busy.append(
                f"Assignments can only be reset if the group '{name}' is inactive, but the current "
                f"state is {state}."
            )
    if options.execute:
        for name, offsets in plans.items():
            _commit(cluster, name, offsets)
    if options.export:
        _export(plans, len(names) == 1)
    elif any(plans.values()):
        _print(plans)
    if busy:
        raise ApiException(ErrorCode.non_empty_group, " ".join(busy))
    return 0


def _commit(cluster: ClusterClient, name: str, offsets: Offsets) -> None:
    places = {it: OffsetAndMetadata(offset) for it, offset in offsets.items()}
    for error in group_requests.commit(cluster, name, places).values() if places else ():
        if error:
            raise error


def _print(plans: Mapping[str, Offsets]) -> None:
    rows: list[Row] = [("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")]
    for name, offsets in plans.items():
        rows += [(name, *partition, offsets[partition]) for partition in sorted(offsets)]
    print()
    table(rows, WIDTHS)


def _export(plans: Mapping[str, Offsets], is_single: bool) -> None:
    """topic,partition,offset; with the group in front if there are several."""
    rows = csv.writer(sys.stdout, lineterminator="\n")
    for name, offsets in plans.items():
        for partition in sorted(offsets):
            rows.writerow([*([] if is_single else [name]), *partition, offsets[partition]])


# -- which offsets -----------------------------------------------------------------------------


def _plan(cluster: ClusterClient, name: str, is_single: bool, options: Namespace) -> Offsets:
    if options.from_file:
        return _within(cluster, _read(options.from_file, name, is_single))
    committed = group_requests.committed_offsets(cluster, name)
    scope = list(committed) if options.all_topics else partitions_of(cluster, options.topic)
    _there(cluster, scope)
    if options.to_offset is not None:
        return _within(cluster, dict.fromkeys(scope, options.to_offset))
    if options.shift_by is not None:
        return _within(cluster, _shifted(committed, scope, options.shift_by))
    if options.to_earliest:
        return {it: find_offset(cluster, it, EARLIEST).offset for it in scope}
    since = options.to_datetime
    if options.by_duration is not None:
        since = int((time.time() - options.by_duration.total_seconds()) * 1000)
    known = committed if options.to_current else {}
    if since is not None:
        known = {it: find_offset(cluster, it, since).offset for it in scope}
    return {
        it: known[it] if known.get(it, -1) >= 0 else find_offset(cluster, it, LATEST).offset
        for it in scope
    }


def _shifted(committed: Offsets, scope: Collection[TopicPartition], by: int) -> Offsets:
    for partition in scope:
        if partition not in committed:
            raise invalid_request(
                f"Cannot shift offset for partition {partition} since there is no current "
                "committed offset"
            )
    return {partition: committed[partition] + by for partition in scope}


def _within(cluster: ClusterClient, offsets: Offsets) -> Offsets:
    """An offset beyond an end of its log becomes that end."""
    _there(cluster, offsets)
    kept = {}
    for partition, offset in offsets.items():
        first, last = (
            find_offset(cluster, partition, which).offset for which in (EARLIEST, LATEST)
        )
        kept[partition] = min(max(offset, first), last)
        if kept[partition] != offset:
            which = "higher than latest" if offset > last else "lower than earliest"
            to_stderr(
                f"WARN: New offset ({offset}) is {which} offset for topic partition {partition}. "
                f"Value will be set to {kept[partition]}"
            )
    return kept


def partitions_of(cluster: ClusterClient, topics: Sequence[str]) -> list[TopicPartition]:
    """What --topic means: `orders` all of its partitions, `orders:0,1` these."""
    found = []
    for text in topics:
        name, colon, numbers = text.partition(":")
        if not colon:
            found += [TopicPartition(name, each) for each in cluster.topic(name).partitions]
        elif re.fullmatch(r"\d{1,20}(,\d{1,20})*", numbers):
            wanted = [TopicPartition(name, int(each)) for each in numbers.split(",")]
            if any(each.partition > INT_MAX for each in wanted):
                raise UsageError(f"--topic {text}: a partition is a number from 0 to {INT_MAX}")
            found += wanted
        else:
            raise UsageError(f"--topic {text}: not of the form orders:0,1")
    return list(dict.fromkeys(found))


def _there(cluster: ClusterClient, partitions: Collection[TopicPartition]) -> None:
    """Refuse partitions that do not exist."""
    for partition in partitions:
        numbers = cluster.topic(partition.topic).partitions
        if partition.partition not in numbers:
            raise ApiException(
                ErrorCode.unknown_topic_or_partition,
                f"topic {partition.topic} has no partition {partition.partition}: it has "
                f"{len(numbers)}, from 0 on",
            )


# -- what is written ---------------------------------------------------------------------------


def _read(path: Path, name: str, is_single: bool) -> Offsets:
    """The lines of a CSV file, with the group in front or not; those of one group."""
    plan = {}
    with path.open(newline="") as file:
        for number, row in enumerate(csv.reader(file), 1):
            group = [name] if len(row) == 3 and is_single else row[:1]
            topic, *numbers = row[-3:] or [""]
            if len(row) not in (3, 4) or not group or not all(map(str.isdecimal, numbers)):
                raise invalid_request(
                    f"{path}: line {number}: not [group,]topic,partition,offset: {','.join(row)}"
                )
            if group == [name]:
                plan[TopicPartition(topic, int(numbers[0]))] = int(numbers[1])
    if not plan:
        raise invalid_request(f"No reset plan for group {name} found")
    return plan


def instant(text: str) -> int:
    """Milliseconds since 1970."""
    try:
        if "T" not in text:
            raise ValueError("there is no T between date and time")
        at = datetime.fromisoformat(text)
    except ValueError as why:
        raise ArgumentTypeError(f"{text!r} is not of the form 2021-04-19T08:00:00.000") from why
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


_DURATION = re.compile(
    r"(?P<sign>[+-])?P(?=.)(?:(?P<days>[+-]?\d+)D)?"
    r"(?:T(?=.)(?:(?P<hours>[+-]?\d+)H)?(?:(?P<minutes>[+-]?\d+)M)?"
    r"(?:(?P<seconds>[+-]?\d+(?:\.\d{0,9})?)S)?)?",
    re.IGNORECASE,
)


def duration(text: str) -> timedelta:
    if not (match := _DURATION.fullmatch(text)):
        raise ArgumentTypeError(f"{text!r} is not of the form PnDTnHnMnS, such as PT1H30M")
    parts = {name: float(n) for name, n in match.groupdict().items() if n and name != "sign"}
    try:
        return timedelta(**parts) * (-1 if match["sign"] == "-" else 1)
    except OverflowError:
        most = timedelta.max.days
        raise ArgumentTypeError(f"{text!r} is too long: {most} days at most") from None
