"""The same two comebacks as they were before KIP-101: a follower was cut to its high watermark.

It hears of that late, or not at all: see test_stories_comeback.py for how both end today.
"""

import pytest

from proof.chaos.judge import FindingKind
from tests.cluster.test_stories_comeback import CONFIG as USUAL
from tests.cluster.test_stories_comeback import (
    cuts,
    differences,
    everywhere,
    returns_with_a_tail,
    returns_with_what_was_lost,
)

# In `make test` the simulator cuts to the high watermark: "cut-to-high-watermark" in
# tests/simulation/test_defects.py.
pytestmark = pytest.mark.long
CONFIG = USUAL | {"inter.broker.protocol.version": "0.10.2"}


def test_a_returning_leader_is_cut_to_its_high_watermark(cluster, truth, topic):
    """Its file has an old high watermark: it removes records that all have, and copies them."""
    before = cluster.events()[-1].number
    victim = returns_with_a_tail(cluster, truth, topic)
    assert (victim, 0, 4) in cuts(cluster, topic, before)
    assert everywhere(cluster, topic, 3) == {
        broker: [b"a", b"b", b"c"] for broker in cluster.brokers
    }
    assert differences(cluster, topic) == []


def test_two_logs_that_differ_for_ever(cluster, truth):
    """A broker takes all below its high watermark for committed: it keeps b, the other has c."""
    before = cluster.events()[-1].number
    first, second = returns_with_what_was_lost(cluster, truth, "forgotten")
    told = everywhere(cluster, "forgotten", 3)
    assert told == {first: [b"a", b"b", b"d"], second: [b"a", b"c", b"d"]}
    assert first not in [broker for broker, *_ in cuts(cluster, "forgotten", before)]
    (found,) = differences(cluster, "forgotten")
    assert (found.kind, found.offset) == (FindingKind.UNLIKE, 1)
