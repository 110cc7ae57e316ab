"""Stories of one transactional id, as its coordinator sees it: what is asked, what is written down,
and which partitions are told.

Each page in transactions/ is a lesson that can be read from top to bottom. A line with ">" is a
step, what follows it is what the step prints. `GOLDEN=write pytest tests/golden` writes the pages
anew. Producers go by names; a producer is who it was told that it is, whatever happens meanwhile.

    NAME init [again] [unheard]      here I am; again: and I am who I was; the answer may get lost
    NAME add PARTITION ..., NAME offsets, NAME commit, NAME abort
    mark PARTITION ...               these have the marker
    hold, fail ERROR, write          writes wait; the oldest one fails; all of them are done
    wait MILLISECONDS, fail-over     time passes; another broker coordinates
    log                              the records as they are, byte for byte
"""

from pathlib import Path

import pytest

from engine.coordinator.effects import Append, TransactionalProducer, TxnMarkers
from engine.coordinator.transactions.metadata import NO_PRODUCER
from engine.errors import ErrorCode
from engine.model import TopicPartition
from tests.golden.coordinator_story import Steps, check_page
from tests.unit.coordinator.transactions.shell import EPOCH, PARTITION, START, Shell

PAGES = sorted((Path(__file__).parent / "transactions").glob("*.txt"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_story(page):
    check_page(page, Story())


class Desk(Shell):
    """A shell that notes what it does, in its order."""

    def __init__(self, story, epoch=EPOCH, records=()):
        self.story, story.desk = story, self
        super().__init__(markers=False, partitions=())
        self.now = story.now
        self.lead(PARTITION, epoch, records)

    def do(self, effects):
        for each in effects:
            self.look()  # what led to it comes first
            match each:
                case Append():
                    self.waiting.append(each)
                    if not self.held:
                        self.finish()
                case TxnMarkers() as mark:
                    self.marks.append(mark)
                    what = "commit" if mark.committed else "abort"
                    partitions = ", ".join(map(str, mark.partitions))
                    self.note(f"tell {partitions}: {what} {_name(mark.producer)}")
                case _:
                    self.story.hear(each.to, each.response)
        self.look()

    def look(self):
        for each in self.told():
            row = f"{each['was']} -> {each['state']}"
            row += f"  {_name(TransactionalProducer(each['producer'], each['epoch']))}"
            self.note(f"* {row}  {' '.join(each['partitions'])}".rstrip())
        self.events.clear()

    def note(self, line):
        self.story.lines.append(line)


class Story(Steps):
    def __init__(self):
        self.lines, self.now, self.epoch = [], START, EPOCH
        self.writers, self.asked = {}, {}  # by name; by number of the request
        Desk(self)  # takes its place as self.desk

    def ask(self, name, what, *words):
        desk, writer = self.desk, self.writers.get(name, NO_PRODUCER)
        self.asked[desk.asked + 1] = name, what, "unheard" in words
        match what:
            case "init":
                desk.init(writer if "again" in words else NO_PRODUCER)
            case "add":
                desk.add(writer, *map(_partition, words))
            case "offsets":
                desk.add_offsets(writer)
            case "commit" | "abort":
                desk.end(writer, what == "commit")

    def hear(self, number, answer):
        name, what, is_lost = self.asked.pop(number)
        if is_lost:
            self.lines.append(f"{name} hears nothing")
            return
        if what == "add":
            (code,) = {
                row.partition_error_code
                for topic in answer.results
                for row in topic.results_by_partition
            }
        else:
            code = answer.error_code
        said = "done" if code == ErrorCode.none else code.name.upper()
        if what == "init" and code == ErrorCode.none:
            self.writers[name] = TransactionalProducer(answer.producer_id, answer.producer_epoch)
            said = f"you are {_name(self.writers[name])}"
        self.lines.append(f"{name} hears: {said}")

    # -- what happens around it ------------------------------------------------------------

    def mark(self, *partitions):
        self.desk.mark(self.desk.marks[-1], *map(_partition, partitions))

    def fail_over(self):
        old = self.desk
        self.now, self.epoch = old.now, self.epoch + 1
        old.do(old.coordinator.unload(PARTITION, old.now))
        Desk(self, self.epoch, [record for _, record in old.accepted])
        self.desk.accepted = list(old.accepted)

    def log(self):
        for _, record in self.desk.accepted:
            value = "null" if record.value is None else record.value.hex()
            self.lines.append(f"{record.key.hex()} {value}")


def _name(writer):
    return f"producer {writer.producer_id}, epoch {writer.epoch}"


def _partition(text):
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))
