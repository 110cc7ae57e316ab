"""Stories of one log on disk: what is done, and what is seen then.

Each page in storage/ is a lesson that can be read from top to bottom. A line with ">" is a step,
what follows it is what the step prints. `GOLDEN=write pytest tests/golden` writes the pages anew.

    append COUNT [time=N] [epoch=N] [size=N] [producer=ID sequence=N]    one batch
    batches, files, index, timeindex, epochs, producers                      what there is
    lookup OFFSET, time N                                                how it is found
    roll, truncate OFFSET, delete-before OFFSET, retain [time=N], sweep [time=N]
    stop, kill, tear BYTES, damage OFFSET                                and after that a restart
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import ApiException
from engine.storage import retention
from engine.storage.log import Log
from tests.unit.storage.disk import NOW, Disk, batch, temporary_disk

PAGES = sorted((Path(__file__).parent / "storage").glob("*.txt"))
Options = dict[str, int]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_story(page: Path) -> None:
    told, written = page.read_text(), []
    with temporary_disk() as disk:
        story = Story(disk)
        for line in told.splitlines():
            if line.startswith("> "):
                written += [line, *story.step(line[2:])]
            elif not line or line.startswith("#"):
                written.append(line)
    text = "\n".join(written) + "\n"
    if os.environ.get("GOLDEN") == "write":
        page.write_text(text)
    assert text == told


class Story:
    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    @property
    def log(self) -> Log:
        return self.disk.log or self.disk.open()

    def step(self, line: str) -> list[str]:
        """Do what a line says; what it prints, and what happened on the way."""
        name, *words = line.split()
        self.disk.events.clear()
        if name == "config":
            pairs = (word.split("=") for word in words)
            self.disk.open(**{key.replace(".", "_"): int(value) for key, value in pairs})
            return []
        numbers = [int(word) for word in words if "=" not in word]
        options = {key: int(value) for key, _, value in (w.partition("=") for w in words) if value}
        action: Callable[[list[int], Options], list[str]] = getattr(self, name.replace("-", "_"))
        try:
            printed = action(numbers, options)
        except ApiException as error:
            printed = [f"{error.code.name.upper()}: {error.message}"]
        return [*map(self._event, self.disk.events), *(f"  {line}" for line in printed)]

    def _event(self, event: object) -> str:
        kind, _, data = event  # type: ignore[misc]
        facts = {key: value for key, value in data.items() if key not in ("topic", "partition")}
        if "file" in facts:
            facts["file"] = Path(facts["file"]).name
        return f"  * {kind} " + " ".join(f"{key}={value}" for key, value in facts.items())

    # -- doing ---------------------------------------------------------------------------

    def append(self, numbers: list[int], options: Options) -> list[str]:
        fields = {"at": NOW + options.get("time", 0), "size": options.get("size", 10)}
        if "producer" in options:
            fields |= {"producer_id": options["producer"], "base_sequence": options["sequence"]}
            fields["producer_epoch"] = 0
        done = self.log.append(batch(numbers[0], **fields), options.get("epoch", 0), NOW)
        word = "they are there already:" if done.duplicate else "offsets"
        return [f"{word} {done.first_offset} to {done.last_offset}"]

    def roll(self, numbers: list[int], options: Options) -> list[str]:
        return self.log.roll(NOW) or []

    def truncate(self, numbers: list[int], options: Options) -> list[str]:
        return self.log.truncate(numbers[0], NOW) or []

    def delete_before(self, numbers: list[int], options: Options) -> list[str]:
        return self.log.advance_start(numbers[0], NOW) or []

    def retain(self, numbers: list[int], options: Options) -> list[str]:
        gone = retention.enforce(self.log, NOW + options.get("time", 0), self.log.end_offset)
        return [f"{gone} segments went, the log starts at {self.log.start_offset}"]

    def sweep(self, numbers: list[int], options: Options) -> list[str]:
        return self.log.sweep(NOW + options.get("time", 0)) or []

    def stop(self, numbers: list[int], options: Options) -> list[str]:
        return [f"the log ends at {self.disk.restart().end_offset}"]

    def kill(self, numbers: list[int], options: Options) -> list[str]:
        start = self.log.start_offset
        return [f"the log ends at {self.disk.kill(start_offset=start).end_offset}"]

    def tear(self, numbers: list[int], options: Options) -> list[str]:
        path = self.log.active.path
        os.truncate(path, path.stat().st_size - numbers[0])
        return self.kill(numbers, options)

    def damage(self, numbers: list[int], options: Options) -> list[str]:
        """One bit of the last byte of the batch that holds an offset."""
        segment = next(self.log.segments_from(numbers[0]))
        found = segment.locate(numbers[0])
        assert found is not None
        data = bytearray(segment.path.read_bytes())
        data[found.position + found.header.size - 1] ^= 1
        segment.path.write_bytes(data)
        return self.kill(numbers, options)

    # -- looking -------------------------------------------------------------------------

    def files(self, numbers: list[int], options: Options) -> list[str]:
        return [f"{name} {len(data)}" for name, data in self.disk.files().items()]

    def batches(self, numbers: list[int], options: Options) -> list[str]:
        return [
            f"{segment.base_offset}: at {position} offsets {it.base_offset} to {it.last_offset}"
            f" epoch {it.leader_epoch}"
            for segment, position, it in self.log.headers()
        ]

    def index(self, numbers: list[int], options: Options) -> list[str]:
        return [
            f"{it.base_offset}: offset {it.offsets[slot][0]} -> position {it.offsets[slot][1]}"
            for it in self.log.segments
            for slot in range(it.offsets.count)
        ]

    def timeindex(self, numbers: list[int], options: Options) -> list[str]:
        return [
            f"{it.base_offset}: time {it.times[slot][0] - NOW} -> offset {it.times[slot][1]}"
            for it in self.log.segments
            for slot in range(it.times.count)
        ]

    def lookup(self, numbers: list[int], options: Options) -> list[str]:
        probes: list[int] = []
        segment = next(self.log.segments_from(numbers[0]))
        found = segment.locate(numbers[0], probes)
        assert found is not None
        return [
            f"in the segment {segment.base_offset}, slots {probes} of its index",
            f"lead to byte {found.position - found.skipped}, {found.skipped} bytes scanned",
            f"to the batch {found.header.base_offset} to {found.header.last_offset}",
        ]

    def time(self, numbers: list[int], options: Options) -> list[str]:
        found = self.log.offset_for_time(NOW + numbers[0])
        return [f"offset {found[0]}, written at {found[1] - NOW}"] if found else ["none is so late"]

    def epochs(self, numbers: list[int], options: Options) -> list[str]:
        return [f"epoch {epoch} begins at {start}" for epoch, start in self.log.epochs.entries]

    def producers(self, numbers: list[int], options: Options) -> list[str]:
        return [
            f"producer {it.producer_id}: last sequence {it.last_sequence} at {it.last_offset}"
            for it in self.log.producers.entries()
        ]
