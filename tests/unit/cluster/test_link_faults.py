"""Who keeps which end of a link that is cut."""

import json

from engine.cluster.link_faults import LinkFaults
from engine.cluster.state import LinkState

CUT = {"out_cut": True, "in_cut": False, "delay": 0.0}


def test_a_direction_between_brokers_is_cut_at_its_sender():
    faults = LinkFaults()
    assert faults.cut(1, 3) == 1
    assert (faults.of(1), faults.of(3)) == ({"3": CUT}, {})
    assert faults.cut(3, 1) == 3
    assert faults.of(3) == {"1": CUT}
    assert list(faults.states()) == [LinkState("1", "3", True), LinkState("3", "1", True)]


def test_zookeeper_has_no_firewall_so_the_broker_keeps_both_directions():
    faults = LinkFaults()
    assert faults.cut(2, "zookeeper") == faults.cut("zookeeper", 2) == 2
    assert faults.of(2) == {"zookeeper": {"out_cut": True, "in_cut": True, "delay": 0.0}}
    assert list(faults.states()) == [
        LinkState("2", "zookeeper", True),
        LinkState("zookeeper", "2", True),
    ]


def test_a_server_of_an_ensemble_is_an_end_of_its_own():
    faults = LinkFaults()
    assert faults.cut(2, "zookeeper-1") == faults.cut("zookeeper-1", 2) == 2
    assert faults.cut("zookeeper-1", "zookeeper-3") == "zookeeper-1"
    assert faults.of(2) == {"zookeeper-1": {"out_cut": True, "in_cut": True, "delay": 0.0}}
    assert faults.of("zookeeper-1") == {"zookeeper-3": CUT}
    assert list(faults.states()) == [
        LinkState("2", "zookeeper-1", True),
        LinkState("zookeeper-1", "2", True),
        LinkState("zookeeper-1", "zookeeper-3", True),
    ]
    assert faults.heal_link("zookeeper-3", "zookeeper-1") == {"zookeeper-1", "zookeeper-3"}
    assert {*faults.heal()} == {2, "zookeeper-1", "zookeeper-3"}
    assert list(faults.states()) == []


def test_a_slow_link_is_slow_in_both_directions():
    faults = LinkFaults()
    assert faults.slow(1, 2, 500) == {1, 2}
    assert (faults.of(1)["2"]["delay"], faults.of(2)["1"]["delay"]) == (0.5, 0.5)
    assert faults.slow("zookeeper", 3, 20) == {3}
    faults.cut(1, 2)
    assert list(faults.states()) == [
        LinkState("1", "2", True, 500),
        LinkState("2", "1", False, 500),
        LinkState("3", "zookeeper", False, 20),
    ]


def test_one_link_is_healed_and_the_others_stay_as_they_are():
    faults = LinkFaults()
    for one, other in ((1, 2), (2, 1), (1, 3)):
        faults.cut(one, other)
    faults.slow(2, "zookeeper", 100)
    assert faults.heal_link(2, 1) == {1, 2}
    assert {(it.source, it.target) for it in faults.states()} == {("1", "3"), ("2", "zookeeper")}
    assert faults.of(1)["2"] == {"out_cut": False, "in_cut": False, "delay": 0.0}
    assert faults.heal_link(2, "zookeeper") == {2}
    assert {(it.source, it.target) for it in faults.states()} == {("1", "3")}


def test_healed_is_forgotten_and_all_who_had_a_fault_are_to_be_told():
    faults = LinkFaults()
    faults.cut(1, 3)
    faults.slow(2, "zookeeper", 10)
    assert faults.heal() == [1, 2]
    assert (faults.of(1), list(faults.states()), faults.heal()) == ({}, [], [])


def test_a_broker_is_started_with_its_faults():
    faults = LinkFaults()
    faults.cut(1, 3)
    (told,) = faults.environment(1).values()
    assert json.loads(told) == {"3": CUT}
    assert list(faults.environment(2).values()) == ["{}"]
