"""Mutants of 03_rebalance: clients with a defect, and lines of cells that are changed.

The lab's consumers run in this process, so a defect of a client can be planted here. Its brokers
are processes of their own: their settings are changed, and what is done to them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module as lab
from typing import Any

import pytest
from kazoo.client import KazooClient
from kio.schema.sync_group.v5.request import SyncGroupRequestAssignment

from engine.assignors import ASSIGNORS, ranges, roundrobin
from engine.client.consumer import Consumer
from engine.client.consuming.membership import Membership
from engine.client.coordinator_lookup import CoordinatorLookup
from engine.client.core import Ask
from engine.client.metadata import MetadataView
from tests.labs.mutants import Mutant

# -- clients with a defect -----------------------------------------------------------------------


def a_client_that_commits_what_it_read_last(patch: pytest.MonkeyPatch) -> None:
    def one_less(consumer: Consumer, offsets: list[Any], **how: Any) -> Any:
        for each in offsets:
            each.offset -= 1
        return commit(consumer, offsets=offsets, **how)

    commit = Consumer.commit
    patch.setattr(Consumer, "commit", one_less)


def a_client_that_asks_another_broker_first(patch: pytest.MonkeyPatch) -> None:
    def answered(core: CoordinatorLookup, ask: Ask, response: Any, now: float) -> None:
        if core not in wrong:
            wrong.add(core)
            response = replace(response, node_id=type(response.node_id)(response.node_id % 3 + 1))
        hear(core, ask, response, now)

    wrong: set[CoordinatorLookup] = set()
    hear = CoordinatorLookup.answered
    patch.setattr(CoordinatorLookup, "answered", answered)


def members_that_all_bring_a_plan(patch: pytest.MonkeyPatch) -> None:
    def with_a_plan(core: Membership, coordinator: int, view: MetadataView) -> Iterator[Ask]:
        own = SyncGroupRequestAssignment(member_id=core.identity.member_id, assignment=b"")
        for ask in sync(core, coordinator, view):
            request = replace(ask.request, assignments=ask.request.assignments or (own,))
            yield ask._replace(request=request)

    sync = Membership._sync
    patch.setattr(Membership, "_sync", with_a_plan)


def assignors_that_were_mixed_up(patch: pytest.MonkeyPatch) -> None:
    """Range deals, and the others cut into runs."""
    for name, other in (("range", roundrobin), ("roundrobin", ranges), ("sticky", ranges)):
        patch.setitem(ASSIGNORS, name, ASSIGNORS[name]._replace(assign=other.assign))


class ZookeeperConsumer:
    """Of before 0.9: it commits to ZooKeeper."""

    def __init__(self, zookeeper: str, group: str) -> None:
        self.keeper = KazooClient(zookeeper)
        self.keeper.start()
        self.path = f"/consumers/{group}/offsets"

    def commit(self, offsets: Iterable[Any], asynchronous: bool) -> None:
        for each in offsets:
            path = f"{self.path}/{each.topic}/{each.partition}"
            self.keeper.ensure_path(path)
            self.keeper.set(path, str(each.offset).encode())

    def close(self) -> None:
        self.keeper.stop()
        self.keeper.close()


# -- and those who wait for what does not come wait less -----------------------------------------


def a_cleaner_is_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lab("rebalance.stored"), "PATIENCE", 0.5)


def a_rebalance_is_not_waited_for_long(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(lab("rebalance.team"), "PATIENCE", 1.5)


def a_slower_network_for_each_broker(patch: pytest.MonkeyPatch) -> None:
    def slower(brokers: int = 1, **config: Any) -> Any:
        return group(brokers, message_ms=2 if brokers == 1 else 40 * brokers, **config)

    simulated = lab("rebalance.simulated")
    group = simulated.SimulatedGroup
    patch.setattr(simulated, "SimulatedGroup", slower)


# -- the table -----------------------------------------------------------------------------------

PLACES = (
    "places-predict places-run places-old places-homes places-cleaned places-machines"
    " places-homes-verdict places-machines-verdict"
)
ROUNDS = (
    "rounds-predict rounds-run rounds-offers rounds-beats rounds-verdict rounds-central-verdict"
)
STORMS = "storms-predict storms-times storms-verdict"
QUICKER = [("(1, 3, 10)", "(1, 10)"), ("(2, 30)", "(2, 3)")]  # what no verdict asks for is left out
NOT_RUN = {"together": set(), "again": {(0, 49)}, "by_itself": 2, "untold": 0, "told": 1}

MUTANTS = [
    Mutant(
        "members whose places are kept, and another group of two",
        "C101 C103 C129",
        "sharing-predict sharing-run sharing-verdict",
        [
            ('other.add("z")', 'other.add("z", "y")'),
            ("team.add(name)", "team.add(name, static=True)"),
            ("team.leave(name)", "team.leave(name)\n        team.add(name, static=True)"),
        ],
    ),
    Mutant(
        "a topic of one partition; it is the other group that loses a member, and goes back",
        "C100 C106 C128",
        "sharing-predict sharing-backlog sharing-neighbours sharing-neighbours-verdict",
        [
            ("(1, 2, 3, 6)", "(1, 6)"),
            ("partitions=6", "partitions=1"),
            ("each=40", "each=240"),
            ("work=0.01", "work=0.001"),
            ('one.leave("b")', 'two.leave("c")'),
            ('one.readers["a"]', 'two.readers["d"]'),
        ],
    ),
    Mutant(
        "a client that commits what it read last",
        "C107 C108 C112",
        "offsets-predict offsets-run offsets-verdict offsets-when-verdict",
        defect=a_client_that_commits_what_it_read_last,
        given=NOT_RUN,
    ),
    Mutant(
        "a member commits before it goes, and both clients commit by themselves",
        "C109 C111",
        "offsets-predict offsets-run offsets-twice offsets-habits offsets-when-verdict",
        [
            ("# change me: team.commit()", "team.commit()"),
            ('enable_auto_commit="false"', 'enable_auto_commit="true", auto_commit_interval_ms=50'),
            (
                "lambda: 20 in one.state.offsets.values()",
                "lambda: all(20 in it.state.offsets.values() for it in (one, two))",
            ),
        ],
    ),
    Mutant(
        "commits to ZooKeeper, an offset that was moved to Kafka, another name, no small segments,"
        " a group that stays, no setting, nothing is moved",
        "C110 C113 C114 C115 C116 C283",
        PLACES,
        [
            (
                'cluster.consumer({"group.id": group})\nsent',
                "old(cluster.zookeeper, group)\nsent",
            ),
            (
                "makepath=True)",
                'makepath=True)\nother = cluster.consumer({"group.id": old_way})\n'
                "other.commit(offsets=[TopicPartition(lines, 0, 7)], asynchronous=False)\n"
                "other.close()",
            ),
            ('"testGroup"', '"testgroup"'),
            ("with stored.small_segments(cluster):", "if True:"),
            ("cluster.admin.delete_consumer_groups([group])[group].result()", "pass"),
            ('config={"offsets.topic.num.partitions": "7"}', "config={}"),
            ("{0: new, 1: new, 2: new}", "{0: 1}"),
            ("range(30)", "range(5)"),
        ],
        a_cleaner_is_not_waited_for,
        given={"old": ZookeeperConsumer},
    ),
    Mutant(
        "the log next to the group's, few groups, a commit to the coordinator alone, and a member"
        " that comes",
        "C117 C118 C119 C120",
        "coordinator-predict coordinator-fallen coordinator-found coordinator-start"
        " coordinator-calm coordinator-verdict coordinator-start-verdict",
        [
            ("[-1].partition", "[-1].partition ^ 1"),
            ("range(30)", "range(2)"),
            ("if broker != home)", "if broker == home)"),
            ("calm.commit()", 'calm.add("c")\n        calm.settle()'),
        ],
    ),
    Mutant(
        "a client that asks another broker first, and reads before it is a member",
        "C120 C122 C125",
        "coordinator-predict coordinator-start coordinator-start-verdict",
        [
            (
                'team.add("starter")',
                'early = cluster.consumer({"group.id": "early", "client.id": "starter"})\n'
                "    early.assign([TopicPartition(lines, 0, 0)])\n"
                "    early.consume(1, 10.0)\n    early.close()\n"
                '    team.add("starter")',
            ),
            (
                "mine = [",
                'other = home % 3 + 1\nsaid = {home: "none", other: "not_coordinator"}\nmine = [',
            ),
        ],
        a_client_that_asks_another_broker_first,
    ),
    Mutant(
        "members that all bring a plan, fewer partitions than members, another default, and"
        " heartbeats as often",
        "C123 C124 C127 C141 C142 C146",
        ROUNDS,
        [
            ("partitions=6", "partitions=2"),
            ("{} if setting", '{"partition_assignment_strategy": "sticky"} if setting'),
            ('"rarely": 400', '"rarely": 100'),
        ],
        members_that_all_bring_a_plan,
    ),
    Mutant(
        "assignors that were mixed up, and no fourth strategy",
        "C104 C139 C145 C147 C148 C149 C150 C151",
        "strategies-predict strategies-example strategies-sticky strategies-hashed"
        " strategies-verdict strategies-hashed-verdict strategies-when-verdict",
        [
            (
                "partition_assignment_strategy=strategy",
                'partition_assignment_strategy=strategy.removeprefix("cooperative-")',
            ),
        ],
        assignors_that_were_mixed_up,
    ),
    Mutant(
        "the other group asks for metadata, a static member goes, and no topic is new to a group",
        "C126 C132 C133 C134",
        "triggers-predict triggers-news triggers-causes triggers-verdict triggers-znodes-verdict",
        [
            ('quick.add("a")', 'quick.add("a", metadata_max_age_ms=600_000)'),
            ('quick.add("c")', 'quick.add("c", metadata_max_age_ms=600_000)'),
            ("600_000  #", "500  #"),
            ("noticed = ", "late.settle()\n    noticed = "),
            ('    team.add("a")', '    team.add("a", static=True)'),
            ("both = (orders, bills)", "both = (orders,)"),
            ('f"{family}-east"', 'f"east-{family}"'),
        ],
        a_rebalance_is_not_waited_for_long,
    ),
    Mutant(
        "nobody holds on to its partitions",
        "C136 C137",
        "cost-predict cost-run cost-found cost-verdict",
        [('team.hold("b")', "pass")],
    ),
    Mutant(
        "all close properly and none is frozen; one is killed and does not hang; one partition less"
        " than members; another session",
        "C121 C130 C131 C140 C143 C144",
        "clocks-predict clocks-hung clocks-killed clocks-frozen clocks-verdict clocks-when-verdict",
        [
            ("team.kill(", "team.leave("),
            ("team.freeze(", "team.leave("),
            ("team.thaw(", "team.add("),
            ('team.add("a", ses', 'team.start("a", "while True: consumer.poll(0.2)", ses'),
            ('team.readers["a"].hangs.set', 'lambda: team.kill("a")'),
            ('"client.id": "plain"', '"client.id": "plain", "session.timeout.ms": "45000"'),
            ("partitions=6", "partitions=2"),
            ("team.start(name, read)", "team.add(name)"),
            ('team.start("c4", read)', 'team.add("c4")'),
        ],
    ),
    Mutant(
        "one record in hand, and members that subscribe",
        "C102 C135",
        "zombie-predict zombie-program zombie-run zombie-outcome zombie-found zombie-assigned"
        " zombie-verdict",
        [
            ("consume(10, 1.0)", "consume(1, 1.0)"),
            ("time.sleep(0.3)", "time.sleep(1)"),
            ("team.await_read(10)", "team.await_read(5)"),
            ('wait_for("commit")', 'wait_for("commit refused")'),
            ("consumer.assign([TopicPartition(lines, 0, 0)])", "consumer.subscribe([lines])"),
            ("consume(10, 10.0)", "consume(10, 3.0)"),
        ],
    ),
    Mutant("nobody hangs", "C138", STORMS, [*QUICKER, ("= not hangs", "= True")]),
    Mutant(
        "a network that is slower with each broker",
        "C138",
        STORMS,
        QUICKER,
        a_slower_network_for_each_broker,
    ),
]
