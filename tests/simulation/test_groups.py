"""A group in the simulated cluster: real members, real coordinators, replicated offsets."""

from random import Random

import pytest

from engine.sim.world import World
from proof.storms.group_workload import COORDINATED, MEMBERS, STRATEGIES, GroupWorkload
from proof.storms.member import GROUP
from proof.storms.run import CONFIG, CONFIG_OF_TOPICS, PARTITIONS, TOPIC, Run
from proof.storms.trace import Trace

WITH_A_GROUP = range(1, 61, 3)  # seeds


class Story:
    """A quiet cluster with a group in which nothing goes wrong by itself."""

    def __init__(self, strategy="range"):
        self.world = World(1, 3, config=CONFIG, delay=(1, 5), patience=4000)
        self.world.run(1000)
        self.world.create(TOPIC, [[1, 2, 3], [2, 3, 1]], **CONFIG_OF_TOPICS)
        self.world.create(COORDINATED.topic, [[3, 1, 2]], **CONFIG_OF_TOPICS)
        self.world.run(1000)
        self.group_workload = GroupWorkload(self.world, TOPIC, MEMBERS[:2], Random(1))
        self.group_workload.strategy, self.group_workload.trouble = strategy, 0
        self.sent = 0

    def turns(self, count=1, send=True):
        for _ in range(count):
            if send:
                self.world.client.send(PARTITIONS[self.sent % 2], str(self.sent))
                self.sent += 1
            self.group_workload.turn(is_calm=True)
            self.world.run(200)

    def until(self, condition, limit=200):
        for _ in range(limit):
            if condition():
                return
            self.turns()
        raise AssertionError("in vain")

    def settled(self):
        """Both members own one of the two partitions, in one generation."""
        members = [each.membership for each in self.group_workload.members.values()]
        owned = [each for member in members for each in member.owned]
        generations = {each.identity.generation_id for each in members}
        return len(members) == 2 and sorted(owned) == PARTITIONS and len(generations) == 1

    @property
    def coordinator(self):
        return self.world.leader(COORDINATED)

    def committed(self):
        """As the coordinator knows; None while it knows of no group."""
        node = self.world[self.coordinator]
        group = node.running.group(GROUP) if node.is_up else None
        return group and {each: it.offset for each, it in group.offsets.stored.items()}

    def generation(self):
        return max(
            each.membership.identity.generation_id for each in self.group_workload.members.values()
        )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_offsets_outlive_the_coordinator(strategy):
    story = Story(strategy)
    story.until(story.settled)
    story.turns(20)
    first, before = story.coordinator, story.committed()
    assert len(before) == 2 and min(before.values()) > 5
    story.world.kill(first)
    story.until(lambda: story.coordinator not in (first, -1) and story.committed() is not None)
    after = story.committed()
    assert all(after[each] >= offset for each, offset in before.items())
    story.until(lambda: story.settled() and min(story.committed().values()) > max(before.values()))


def test_whoever_sleeps_too_long_is_replaced_and_its_commit_refused():
    """It fell asleep with a commit on its lips. On waking it says it, and nothing moves."""
    story = Story()
    story.until(story.settled)
    story.turns(10)
    (machine, sleeper), (other, _) = story.group_workload.members.items()
    (partition,) = sleeper.membership.owned
    sleeper.process.pause()
    sleeper.process.do(sleeper.commit)  # when it goes on
    story.group_workload.machines = [other]  # nobody wakes it before its time
    story.until(lambda: story.group_workload.members[other].membership.owned == set(PARTITIONS))
    story.turns(10)
    taken_over, told = story.committed()[partition], len(sleeper.acknowledged)
    assert taken_over > sleeper.readers[partition].position
    sleeper.process.resume()
    story.world.run(500)
    assert len(sleeper.acknowledged) == told
    assert story.committed()[partition] >= taken_over
    story.group_workload.machines = [machine, other]
    story.until(story.settled)


def test_who_leaves_hands_over_and_who_comes_gets_a_share():
    story = Story("cooperative-sticky")
    story.until(story.settled)
    generation = story.generation()
    machine, member = next(iter(story.group_workload.members.items()))
    story.group_workload._leave(machine, member)
    story.until(lambda: story.group_workload.members.get(machine) not in (None, member))
    story.until(story.settled)
    assert story.generation() > generation
    assert not member.process.alive and member.membership.has_left


def test_every_kind_of_trouble_comes_over_groups():
    """Or these runs would say little."""
    kinds, strategies, acknowledged, generations, coordinators = set(), set(), 0, 0, 0
    for seed in WITH_A_GROUP:
        run = Run(seed)
        run.go()
        events = [each.event for each in run.world.events]
        kinds |= {each.kind for each in events} | {each.data.get("what") for each in events}
        strategies.add(run.group_workload.strategy)
        acknowledged += sum(len(each.acknowledged) for each in run.group_workload.everyone)
        generations += len(
            {taken.generation for it in run.group_workload.everyone for taken in it.taken}
        )
        tellers = {it.broker for it in run.world.events if it.event.kind == "offset.committed"}
        coordinators += len(tellers)
    assert kinds >= {
        "member.killed", "member.leaving", "member.stopped", "member.hangs", "member.paused",
        "consumer.assigned", "consumer.revoked", "consumer.lost", "offset.committed",
        "expired", "left",
    }  # fmt: skip
    assert strategies == set(STRATEGIES)
    seeds = len(WITH_A_GROUP)
    assert acknowledged > 8 * seeds and generations > 4 * seeds and coordinators > 1.5 * seeds


def test_two_of_three_seeds_have_no_group():
    assert [bool(Run(seed).group_workload.machines) for seed in range(6)] == [
        False,
        True,
        False,
    ] * 2


def test_a_trace_shows_what_members_ask_and_own():
    trace = Trace.of(4, 10)
    head, *rows = trace.diagram().splitlines()
    assert head.split()[3:7] == ["reader", *MEMBERS]
    assert any("OffsetCommit orders-" in row and "in generation" in row for row in rows)
    assert any("* consumer.assigned" in row for row in rows)
    assert not any("Heartbeat" in row for row in rows)
    assert any("Heartbeat" in row for row in trace.diagram(routine=True).splitlines())
