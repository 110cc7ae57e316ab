"""Stories of one consumer group, as its coordinator sees it: what members send, what they get, and
what is written to the log.

Each page in groups/ is a lesson that can be read from top to bottom. A line with ">" is a step, and
the lines after it are what the step prints. `GOLDEN=write pytest tests/golden` writes the pages
anew. A member has a name here, and uses the member id and generation that it was told last.

    NAME joins [as INSTANCE] [with PROTOCOL ...] [anew]    anew: it has forgotten its member id
    NAME syncs [MEMBER=SHARE ...]     the leader names the shares
    NAME beats, NAME leaves           a heartbeat; a goodbye
    NAME commits OFFSET               of partition t-0
    anybody fetches
    hold, fail ERROR, write           writes wait; the oldest one fails; all of them are done
    wait MILLISECONDS, fail-over      time passes; another broker coordinates
    log                               the records as they are, byte for byte
"""

from pathlib import Path

import pytest

from engine.coordinator.effects import Append
from engine.errors import ErrorCode
from tests.golden.coordinator_story import Steps, check_page
from tests.unit.coordinator.shell import PARTITION, SUBSCRIPTION, T0, Shell

PAGES = sorted((Path(__file__).parent / "groups").glob("*.txt"))
DELAY = 3000


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_story(page):
    check_page(page, Story())


class Desk(Shell):
    """A shell that notes what it does, in its order."""

    def __init__(self, story, ids=None):
        self.story, story.desk = story, self
        self.seen = 0  # events
        super().__init__(ids=ids, partitions=(), group_initial_rebalance_delay_ms=DELAY)

    def do(self, effects):
        for each in effects:
            self.look()  # what led to it comes first
            if isinstance(each, Append):
                super().do([each])
            else:
                self.story.hear(each.to, each.response)
        self.look()

    def look(self):
        new, self.seen = self.events[self.seen :], len(self.events)
        for each in new:
            row = each.data
            match each.kind:
                case "group.state":
                    self.note(f"* {row['was']} -> {row['now']}: {row['reason']}")
                case "group.member":
                    self.note(f"* {row['member']} {row['what']}")
                case "offset.committed":
                    self.note(f"* committed {row['offsets']}")

    def note(self, line):
        self.story.lines.append(line)


class Story(Steps):
    def __init__(self):
        self.lines, self.asked = [], {}  # by number of the request
        self.members = {}  # by name: member id and generation
        self.instances = {}
        Desk(self)  # takes its place as self.desk
        self.desk.load(PARTITION)

    def ask(self, name, what, *words):
        desk, instance = self.desk, self.instances.get(name)
        id, generation = self.members.get(name, ("", -1))
        self.asked[desk.asked + 1] = name, what
        match what:
            case "joins":
                words = list(words)
                if words[:1] == ["as"]:
                    instance = self.instances[name] = words[1]
                    del words[:2]
                id = "" if words[-1:] == ["anew"] else id
                names = words[1:] if words[:1] == ["with"] else ["range"]
                protocols = [(each, SUBSCRIPTION) for each in names]
                desk.join(id, protocols, client_id=name, group_instance_id=instance)
            case "syncs":
                shares = (word.split("=") for word in words)
                named = {self.members[each][0]: share.encode() for each, share in shares}
                more = {"group_instance_id": instance, "protocol_name": None, "version": 4}
                desk.sync(id, generation, named, **more)
            case "beats":
                code = desk.heartbeat(id, generation, instance)
                self.lines.append(f"{name} hears: {_said(code)}")
            case "leaves":
                desk.leave(id)
            case "commits":
                desk.commit({T0: int(words[0])}, id, generation, instance=instance)
            case "fetches":
                desk.fetch()

    def hear(self, number, answer):
        name, what = self.asked.pop(number)
        self.desk.replies[number].append(answer)
        match what:
            case "joins" if answer.error_code in (ErrorCode.none, ErrorCode.member_id_required):
                self.members[name] = answer.member_id, answer.generation_id
                said = f"you are {answer.member_id}"
                if answer.error_code == ErrorCode.none:
                    said += f" in generation {answer.generation_id}, by {answer.protocol_name}, "
                    said += f"led by {answer.leader}"
                    if answer.members:
                        said += ": " + ", ".join(each.member_id for each in answer.members)
            case "syncs" if answer.error_code == ErrorCode.none:
                said = f"yours is {answer.assignment.decode() or 'nothing'}"
            case "commits":
                said = _said(answer.topics[0].partitions[0].error_code)
            case "fetches":
                rows = [row for topic in answer.topics for row in topic.partitions]
                said = f"{[row.committed_offset for row in rows]}"
            case "beats":
                return
            case _:
                said = _said(answer.error_code)
        self.lines.append(f"{name} hears: {said}")

    # -- what happens around it ------------------------------------------------------------

    def fail_over(self):
        old = self.desk
        old.do(old.coordinator.unload(PARTITION, old.now))
        Desk(self, old.ids)
        self.desk.now, self.desk.batches = old.now, list(old.batches)
        self.desk.load(PARTITION)

    def log(self):
        for _, record in self.desk.accepted:
            value = "null" if record.value is None else record.value.hex()
            self.lines.append(f"{record.key.hex()} {value}")


def _said(code):
    return "done" if code == ErrorCode.none else code.name.upper()
