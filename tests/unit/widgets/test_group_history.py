"""A group's life, told event by event: who has what, what moves, and what is counted once."""

from engine.cluster.state import GroupState, MemberState
from tests.unit.widgets.cluster import START, event
from widgets.group.history import GroupHistory, name_of, place_of

IDS = {name: f"{name}-00000000-1111-2222-3333-44444444444{name[-1]}" for name in ("c1", "c2", "c3")}


def member(at, name, what):
    return event("group.member", at, 1, group="g", member=IDS[name], instance=None, what=what)


def preparing(at, reason, teller=1):
    data = {"group": "g", "was": "Stable", "now": "PreparingRebalance", "generation": 0}
    return event("group.state", at, teller, **data, reason=reason)


def stable(at, generation, protocol="range", **shares):
    """c1="01" has orders-0 and orders-1."""
    named = {IDS[name]: [f"orders-{it}" for it in told] for name, told in shares.items()}
    facts = {"group": "g", "generation": generation}
    moved = {"was": "CompletingRebalance", "now": "Stable", "reason": "stored"}
    given = {"protocol": protocol, "leader": IDS["c1"], "shares": named}
    return [
        event("group.state", at, 1, **facts, **moved),
        event("group.assignment", at, 1, **facts, **given),
    ]


def empty(at, generation):
    told = {"group": "g", "was": "PreparingRebalance", "now": "Empty", "reason": "no member joined"}
    return event("group.state", at, 1, generation=generation, **told)


def joins(at, name):
    return [member(at, name, "joined"), preparing(at, f"{IDS[name]} joins")]


def two_consumers():
    return [
        *joins(0, "c1"),
        *stable(10, 1, c1="0123"),
        *joins(1000, "c2"),
        *stable(1300, 2, c1="01", c2="23"),
    ]


def told(events):
    history = GroupHistory("g")
    history.add(events)
    return history


def spells(history):
    """Relative to the start."""
    return [
        (it.partition, it.lane, it.start - START, it.end and it.end - START)
        for it in history.spells
    ]


def test_a_share_moves_when_a_second_consumer_comes():
    history = told(two_consumers())
    assert spells(history) == [
        ("orders-0", "c1", 10, None),
        ("orders-1", "c1", 10, None),
        ("orders-2", "c1", 10, 1000),
        ("orders-3", "c1", 10, 1000),
        ("orders-2", "c2", 1300, None),
        ("orders-3", "c2", 1300, None),
    ]
    first, second = history.rounds
    assert (first.moved, first.shared) == ([], 4)
    assert (second.moved, second.shared) == (["orders-2", "orders-3"], 4)
    assert second.lasted(0) == 0.3
    assert second.causes == ["c2 joins"]
    assert history.share("c2") == ["orders-2", "orders-3"]


def test_an_expired_consumer_is_lost_and_its_share_goes_to_the_other():
    history = told(
        [
            *two_consumers(),
            member(9000, "c2", "expired"),
            preparing(9000, f"{IDS['c2']} expired"),
            *stable(9400, 3, c1="0123"),
        ]
    )
    assert history.rounds[-1].lost == ["c2"]
    assert history.rounds[-1].moved == ["orders-2", "orders-3"]
    assert list(history.present) == ["c1"]
    assert history.share("c1") == [f"orders-{it}" for it in range(4)]


def test_who_does_not_come_back_in_a_rebalance_is_lost_in_it():
    history = told([*two_consumers(), *joins(2000, "c3"), member(5000, "c2", "did not join again")])
    assert history.open is not None
    assert history.open.lost == ["c2"]


def test_a_rebalance_that_begins_anew_is_one():
    events = [*joins(0, "c1"), *joins(100, "c2"), *stable(500, 1, c1="0", c2="1")]
    history = told(events)
    assert [(it.causes, it.lasted(0)) for it in history.rounds] == [(["c1 joins", "c2 joins"], 0.5)]


def test_in_two_cooperative_rounds_a_partition_moves_once():
    history = told(
        [
            *joins(0, "c1"),
            *stable(10, 1, "cooperative-sticky", c1="01"),
            *joins(1000, "c2"),
            *stable(1100, 2, "cooperative-sticky", c1="0", c2=""),
            preparing(1200, f"{IDS['c1']} joins again"),
            *stable(1300, 3, "cooperative-sticky", c1="0", c2="1"),
        ]
    )
    assert [it.moved for it in history.rounds] == [[], [], ["orders-1"]]
    assert history.rounds[-1].cooperative
    assert spells(history)[1:] == [("orders-1", "c1", 10, 1000), ("orders-1", "c2", 1300, None)]


def test_a_group_that_everybody_left_begins_anew():
    leaves = [member(2000, "c1", "left"), preparing(2000, f"{IDS['c1']} left"), empty(2000, 2)]
    events = [*joins(0, "c1"), *stable(10, 1, c1="0"), *leaves]
    history = told([*events, *joins(60_000, "c2"), *stable(60_010, 3, c2="0")])
    assert spells(history) == [("orders-0", "c1", 10, 2000), ("orders-0", "c2", 60_010, None)]
    assert history.rounds[-1].moved == []  # nobody had it


def test_a_thawed_consumer_comes_back_to_its_lane_and_a_namesake_gets_its_own():
    again = "c1-99999999-1111-2222-3333-444444444441"
    namesake = "c1-88888888-1111-2222-3333-444444444441"
    history = told([member(0, "c1", "joined"), member(5000, "c1", "expired")])
    for at, id in ((6000, again), (7000, namesake)):
        told_of = {"group": "g", "member": id, "instance": None, "what": "joined"}
        history.add([event("group.member", at, 1, **told_of)])
    assert [life.lane for life in history.lives] == ["c1", "c1", "c1 2"]


def test_an_event_counts_once_and_those_of_other_groups_not_at_all():
    numbered = [it._replace(number=place) for place, it in enumerate(two_consumers(), 1)]
    history = told(numbered)
    other = event("group.state", 2000, 1, group="other", now="PreparingRebalance", reason="x")
    assert not history.add(numbered)
    assert not history.add([other._replace(number=99)])
    assert len(history.rounds) == 2


def group_state(generation, coordinator=1, since=START + 500, **shares):
    members = {
        IDS[name]: MemberState(
            name, "/127.0.0.1", None, tuple(f"orders-{it}" for it in told), False
        )
        for name, told in shares.items()
    }
    facts = (coordinator, 0, "Stable", since, generation, "range", IDS["c1"], members, {})
    return GroupState(*facts)


def test_what_no_event_told_is_seen_in_the_state():
    history = GroupHistory("g")
    history.see(group_state(7, c1="01", c2="2"), START + 900)
    assert spells(history) == [
        ("orders-0", "c1", 500, None),
        ("orders-1", "c1", 500, None),
        ("orders-2", "c2", 500, None),
    ]
    history.see(group_state(7, c1="01", c2="2"), START + 1900)
    assert len(history.spells) == 3
    history.see(group_state(8, since=START + 3000, c1="012"), START + 3100)
    assert list(history.present) == ["c1"]


def test_a_rebalance_that_died_with_its_coordinator_is_over():
    history = told([*two_consumers(), preparing(3000, "c3 joins", teller=1)])
    history.see(group_state(2, coordinator=1, c1="01", c2="23"), START + 3100)
    assert history.open is not None  # the state is older than the event
    history.see(group_state(2, coordinator=3, c1="01", c2="23"), START + 8000)
    assert history.open is None


def test_names_and_places():
    assert name_of(IDS["c1"]) == "c1"
    assert name_of("odd") == "odd"
    assert sorted(["a-10", "a-9", "b-c-1"], key=place_of) == ["a-9", "a-10", "b-c-1"]
