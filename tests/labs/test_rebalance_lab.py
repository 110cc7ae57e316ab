"""03_rebalance: begun in the middle, run again, and with experiments that are spoilt on purpose."""

import importlib
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from engine.cluster.state import Status
from tests.labs.reader import LABS, Reader
from widgets.ledger.ledger import Contradiction

LAB = LABS / "03_rebalance.ipynb"


@pytest.mark.long  # `make order` begins anywhere, and goes back
@pytest.mark.timeout(300)
def test_one_may_begin_in_the_middle_go_back_and_do_it_again(reader: Reader) -> None:
    reader.through("rounds-predict")
    reader.names["guess"].choose("1 The coordinator")
    reader.through("rounds-run")
    assert "You predicted: The coordinator." in repr(reader.through("rounds-outcome"))
    reader.through("rounds-offers", "rounds-verdict")
    assert "Run the cells of C100" in repr(reader.through("table"))

    cluster = reader.names["cluster"]
    shares = repr(reader.through("sharing-predict", "sharing-run"))
    reader.through("sharing-verdict")
    assert reader.names["cluster"] is cluster
    assert repr(reader.through("sharing-run")) == shares
    reader.through("sharing-verdict", "rounds-predict", "rounds-run", "rounds-verdict")

    cluster.kill(2)  # a learner has played with it; a section's first cell makes it whole
    reader.through("coordinator-predict")
    assert {it.status for it in cluster.state().brokers.values()} == {Status.UP}
    reader.through("coordinator-fallen", "coordinator-found", "coordinator-start")
    reader.through("coordinator-calm", "coordinator-verdict", "coordinator-start-verdict")


# -- experiments spoilt on purpose: the verdict changes ------------------------------------------


class Sections(Reader):
    """On one cluster; each is run once as it stands, and then begins with what it had found."""

    def __init__(self) -> None:
        super().__init__(LAB)
        self.found: dict[str, dict[str, Any]] = {}

    def run_section(self, section: str) -> None:
        if section not in self.found:
            self.through(*(it.id for it in self.cells if it.id.startswith(f"{section}-")))
            self.found[section] = dict(self.names)
        self.names.clear()
        self.names |= self.found[section]


@pytest.fixture(scope="module")
def shared() -> Iterator[Sections]:
    reader = Sections()
    yield reader
    reader.close()


def spoilt(reader: Reader, name: str, *changes: tuple[str, str]) -> None:
    """Run a cell in which some text is another one."""
    source = reader.cell(name).source
    for old, new in changes:
        assert old in source, f"{name} has no {old!r}"
        source = source.replace(old, new)
    reader.run(SimpleNamespace(id=name, source=source))


FINDINGS: list[tuple[str, str, dict[str, Any], str]] = [
    ("sharing-verdict", "C101", {"alone": [0]}, "conditional"),
    ("sharing-verdict", "C103", {"read": {"e": 3, "f": 0}}, "conditional"),
    ("sharing-neighbours-verdict", "C106", {"kept": {"orders-0": 3}}, "conditional"),
    ("sharing-neighbours-verdict", "C128", {"after": ({"a": []}, {"c": [], "d": [0]})}, "holds"),
    ("offsets-verdict", "C107", {"heir": 9}, "conditional"),
    ("offsets-when-verdict", "C108", {"heir": 0}, "holds"),
    ("places-homes-verdict", "C283", {"changed": ["/consumers/a"]}, "conditional"),
    (
        "places-machines-verdict",
        "C110",
        {"changed": ["/consumers/a"], "more": 1, "begins": 7},
        "holds",
    ),
    ("rounds-verdict", "C123", {"planned": []}, "conditional"),
    ("rounds-central-verdict", "C127", {"planned": ["broker"]}, "holds"),
    ("triggers-verdict", "C126", {"unasked": True, "traces": {"/consumers/ids/c"}}, "holds"),
    ("triggers-verdict", "C134", {"reason": "", "noticed": False}, "wrong"),
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("cell", "claim", "found", "verdict"), FINDINGS)
def test_another_finding_is_another_verdict(
    shared: Sections, cell: str, claim: str, found: dict[str, Any], verdict: str
) -> None:
    shared.run_section(cell.partition("-")[0])
    shared.names |= found
    with pytest.raises(Contradiction, match=f"finds {claim} {verdict}, "):
        shared.through(cell)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("cell", "change", "decides", "against"),
    [
        # a member that commits before it goes leaves nothing to be read again
        (
            "offsets-twice",
            ("# change me: team.commit()", "team.commit()"),
            "offsets-when-verdict",
            "C109 holds",
        ),
        # both commit by themselves
        (
            "offsets-habits",
            ('enable_auto_commit="false"', 'enable_auto_commit="true", auto_commit_interval_ms=50'),
            "offsets-when-verdict",
            "C111 holds",
        ),
        # another hash
        (
            "places-homes",
            ("-1202336499", "-1202336498"),
            "places-homes-verdict",
            "C116 conditional",
        ),
        # the partitions stay where they are
        (
            "places-machines",
            ("{0: new, 1: new, 2: new}", "{0: 1, 1: 1, 2: 1}"),
            "places-machines-verdict",
            "C115 wrong",
        ),
        # a client with another default
        (
            "rounds-offers",
            ("{} if setting", '{"partition_assignment_strategy": "sticky"} if setting'),
            "rounds-central-verdict",
            "C146 conditional",
        ),
        # a heartbeat as rare for one as for the other
        (
            "rounds-offers",
            ("heartbeat_interval_ms=400", "heartbeat_interval_ms=100"),
            "rounds-verdict",
            "C141 wrong",
        ),
        # nobody has to join again for another one
        (
            "strategies-hashed",
            ('team.leave("d")', "pass"),
            "strategies-hashed-verdict",
            "C139 wrong",
        ),
    ],
)
def test_another_experiment_is_another_verdict(
    shared: Sections, cell: str, change: tuple[str, str], decides: str, against: str
) -> None:
    shared.run_section(cell.partition("-")[0])
    spoilt(shared, cell, change)
    with pytest.raises(Contradiction, match=f"finds {against}, "):
        shared.through(decides)


@pytest.mark.long  # seconds of real sessions
@pytest.mark.timeout(200)
@pytest.mark.parametrize(
    ("cell", "change", "decides", "against"),
    [
        (
            "cost-run",
            ('partition_assignment_strategy="cooperative-sticky"', ""),
            "cost-verdict",
            "C136 holds",
        ),
        (
            "clocks-hung",
            ('"client.id": "plain"', '"client.id": "plain", "session.timeout.ms": "45000"'),
            "clocks-verdict",
            "C140 conditional",
        ),
        (
            "clocks-frozen",
            ("time.sleep(0.5)", "time.sleep(5)"),
            "clocks-when-verdict",
            "C144 holds",
        ),
    ],
)
def test_another_experiment_in_real_time_is_another_verdict(
    shared: Sections, cell: str, change: tuple[str, str], decides: str, against: str
) -> None:
    shared.run_section(cell.partition("-")[0])
    spoilt(shared, cell, change)
    if cell == "cost-run":
        shared.through("cost-found")
    with pytest.raises(Contradiction, match=f"finds {against}, "):
        shared.through(decides)


@pytest.mark.long  # a session that ends, twice
@pytest.mark.timeout(200)
def test_one_owner_would_hold_if_a_zombie_dropped_its_records(shared: Sections) -> None:
    """And if assign were guarded; as it is, either alone is enough to make C102 conditional."""
    shared.run_section("zombie")
    careful = """
    for message in batch:
        if time.time() - taken > 1: break
        taken = time.time()"""
    spoilt(
        shared,
        "zombie-program",
        ("\n    for message in batch:", careful),
        (
            "batch = consumer.consume(10, 1.0)",
            "batch, taken = consumer.consume(10, 1), time.time()",
        ),
    )
    shared.through("zombie-run", "zombie-outcome", "zombie-found")
    assert not shared.names["both"]
    assert "C102 conditional" in repr(shared.through("zombie-verdict"))
    shared.names["read"] = {"one": 10, "two": 0}
    with pytest.raises(Contradiction, match="finds C102 holds, "):
        shared.through("zombie-verdict")
    shared.names["owners"] = [["a"], ["a", "b"]]
    with pytest.raises(Contradiction, match="finds C102 wrong, "):
        shared.through("zombie-verdict")


# -- in simulated time -----------------------------------------------------------------------------


@pytest.fixture
def storms(reader: Reader) -> Reader:
    """What its cells need, without a cluster."""
    stand = importlib.import_module("rebalance.stand")
    simulated = importlib.import_module("rebalance.simulated")
    table = importlib.import_module("engine").Table
    reader.names |= {
        "ledger": stand.ledger,
        "Table": table,
        "SimulatedGroup": simulated.SimulatedGroup,
    }
    return reader


def test_the_number_of_brokers_would_count_if_each_made_the_network_slower(storms: Reader) -> None:
    sound = storms.names["SimulatedGroup"]
    storms.names["SimulatedGroup"] = lambda brokers=1, **config: sound(
        brokers, message_ms=2 if brokers == 1 else 40 * brokers, **config
    )
    storms.through("storms-times")
    with pytest.raises(Contradiction, match="finds C138 holds, "):
        storms.through("storms-verdict")


def test_nothing_is_slow_if_nobody_hangs(storms: Reader) -> None:
    spoilt(storms, "storms-times", ("is_polling = not hangs", "is_polling = True"))
    with pytest.raises(Contradiction, match="finds C138 wrong, "):
        storms.through("storms-verdict")


def test_without_the_delay_a_start_is_a_storm(storms: Reader) -> None:
    rows = dict(storms.through("storms-opening"))
    assert rows[3000] == 1 < rows[0]


# -- with pure functions ---------------------------------------------------------------------------


def test_sticky_that_forgets_is_another_verdict(storms: Reader) -> None:
    strategies = importlib.import_module("rebalance.strategies")
    assignors = importlib.import_module("engine.assignors")

    def forgetful(strategy: str, members: Any, partitions: int = 10, had: Any = None) -> Any:
        """Nobody's past counts."""
        return strategies.plan(strategy, members, partitions)

    storms.names |= vars(assignors) | vars(strategies) | {"plan": forgetful}
    storms.through("strategies-sticky")
    with pytest.raises(Contradiction, match="finds C151 wrong, "):
        storms.through("strategies-when-verdict")


def test_range_over_one_large_topic_is_another_verdict(storms: Reader) -> None:
    """Then none is idle, and the condition of C104 is not needed."""
    strategies = importlib.import_module("rebalance.strategies")
    assignors = importlib.import_module("engine.assignors")
    storms.names |= vars(assignors) | vars(strategies)
    spoilt(storms, "strategies-sticky", ('{"bills": 3, "orders": 3}', '{"bills": 0, "orders": 6}'))
    with pytest.raises(Contradiction, match="finds C104 holds, "):
        storms.through("strategies-when-verdict")


# -- and the ledger ------------------------------------------------------------------------------


def test_a_wrong_verdict_in_the_ledger_stops_the_cell(
    storms: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    storms.through("storms-times", "storms-verdict")
    ledger = storms.names["ledger"]
    monkeypatch.setitem(ledger.claims, "C138", replace(ledger.claims["C138"], verdict="holds"))
    with pytest.raises(Contradiction, match=r"C138 conditional, and labs/claims\.json says holds"):
        storms.through("storms-verdict")


def test_a_wait_in_vain_says_for_what() -> None:
    stand = importlib.import_module("rebalance.stand")
    with pytest.raises(TimeoutError, match="the moon: not within 0 seconds"):
        stand.until("the moon", lambda: False, 0)


def test_a_program_that_ends_says_why(shared: Sections) -> None:
    """A learner's mistake in the zombie's program is told, and not waited for."""
    shared.through("zombie-predict")
    team = importlib.import_module("rebalance.team").Team
    with team(shared.names["cluster"], shared.names["cluster"].topic("lines")) as one:
        process = one.start("a", "print(consume)")
        with pytest.raises(RuntimeError, match="NameError: name 'consume' is not defined"):
            process.wait_for("works on")
