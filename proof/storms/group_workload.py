"""A consumer group in a simulated cluster: members start, hang, pause, leave and are killed.

    machine    member-1   member-2   member-3      on each a member, another one, or none

All members read the same topic with the same strategy. The assignments of a member and its
acknowledged commits are kept when it has ended, since the invariants still check them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from engine.broker.coordinator_topic import OFFSETS
from engine.model import Event, TopicPartition
from engine.sim.world import World
from proof.storms.member import Member

MEMBERS = ("member-1", "member-2", "member-3")
COORDINATED = TopicPartition(OFFSETS, 0)  # where the group's records are
STRATEGIES = ("range", "sticky", "cooperative-sticky")
TIMEOUT = 3000  # ms for an answer
TROUBLES = (0.05, 0.1, 0.2)  # the probability of a fault of a member in a turn; each run picks one
RELIEFS = (0.08, 0.2, 0.4)  # and of its end
CLOSING = 30_000  # ms: a member that has not left by then is stopped
COMMITS = 0.3  # the probability that a member commits in a turn


class GroupWorkload:
    """Without machines there is no group in this run."""

    def __init__(self, world: World, topic: str, machines: Sequence[str], chance: Random) -> None:
        self.machines = machines
        self.members: dict[str, Member] = {}  # those that are running, by machine
        self.everyone: list[Member] = []  # all that ever ran, in the order of their start
        self._topic = topic
        self._world = world
        self._chance = chance
        self._leaving: dict[str, int] = {}  # the time when a leaving member is stopped
        if machines:
            self.strategy = chance.choice(STRATEGIES)
            self.trouble, self.relief = chance.choice(TROUBLES), chance.choice(RELIEFS)
        self._faults: tuple[Callable[[str, Member], None], ...] = (
            self._kill, self._leave, self._hang, self._sleep, self._sleep
        )  # fmt: skip

    def turn(self, *, is_calm: bool = False) -> None:
        chance = self._chance
        for machine in self.machines:
            member = self.members.get(machine)
            if member is None:
                if is_calm or chance.random() < self.relief:
                    self._start(machine)
                continue
            if is_calm or chance.random() < self.relief:
                self._relieve(member)
            elif chance.random() < self.trouble:
                chance.choice(self._faults)(machine, member)
            if member.process.alive and not member.process.paused:
                self._run_turn(machine, member, is_calm)

    def _run_turn(self, machine: str, member: Member, is_calm: bool) -> None:
        member.poll()
        if machine in self._leaving:
            if member.membership.has_left or self._world.now >= self._leaving[machine]:
                self._kill(machine, member)
        elif member.is_polling and (is_calm or self._chance.random() < COMMITS):
            member.commit()

    def _relieve(self, member: Member) -> None:
        """A member that hung commits first: its long work is done."""
        if not member.is_polling:
            member.is_polling = True
            member.process.do(partial(member.commit, again=True))
        if member.process.paused:
            member.process.resume()

    def _start(self, machine: str) -> None:
        client = self._world.add_client(machine, timeout=TIMEOUT)
        member = Member(client, self._topic, self.strategy, self._member_event)
        self._world.note("member.started", machine=machine)
        self.members[machine] = member
        self.everyone.append(member)

    def _kill(self, machine: str, member: Member) -> None:
        kind = "member.stopped" if machine in self._leaving else "member.killed"
        self._world.note(kind, machine=machine)
        member.process.kill()
        self._leaving.pop(machine, None)
        del self.members[machine]

    def _leave(self, machine: str, member: Member) -> None:
        if machine not in self._leaving:
            self._world.note("member.leaving", machine=machine)
            self._leaving[machine] = self._world.now + CLOSING
            member.leave()

    def _hang(self, machine: str, member: Member) -> None:
        self._world.note("member.hangs", machine=machine)
        member.is_polling = False

    def _sleep(self, machine: str, member: Member) -> None:
        self._world.note("member.paused", machine=machine)
        member.process.pause()
        member.process.do(partial(member.commit, again=True))  # sent when it resumes

    def _member_event(self, event: Event) -> None:
        """Keep the events of a member except its states, which show in its requests."""
        if event.kind != "consumer.state":
            self._world.report(event)
