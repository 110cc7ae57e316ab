"""The same two comebacks from inter.broker.protocol.version 2.7 on: the answer to Fetch truncates.

A follower no longer asks where an epoch ended; its leader says so when it fetches what does not
fit: see test_stories_comeback.py for the request that there was before.
"""

import pytest

from tests.cluster.test_stories_comeback import CONFIG as USUAL
from tests.cluster.test_stories_comeback import (
    cuts,
    differences,
    everywhere,
    returns_with_a_tail,
    returns_with_what_was_lost,
)

CONFIG = USUAL | {"inter.broker.protocol.version": "2.7-IV1"}


def asked(cluster, after):
    """The requests that followers have sent since then."""
    return {
        each.data["api"]
        for each in cluster.events(after)
        if each.kind == "request" and "fetcher" in (each.data["client"] or "")
    }


def test_a_tail_is_cut_off_by_the_answer_to_a_fetch(cluster, truth, topic):
    before = cluster.events()[-1].number
    cluster.trace()
    victim = returns_with_a_tail(cluster, truth, topic)
    assert cuts(cluster, topic, before) == [(victim, 2, 4)]
    assert everywhere(cluster, topic, 3) == {
        broker: [b"a", b"b", b"c"] for broker in cluster.brokers
    }
    assert differences(cluster, topic) == []
    assert asked(cluster, before) == {"FETCH"}


@pytest.mark.long
def test_who_returns_with_what_was_lost_gives_it_up(cluster, truth):
    before = cluster.events()[-1].number
    first, second = returns_with_what_was_lost(cluster, truth, "forgotten")
    expected = [b"a", b"c", b"d"]
    assert everywhere(cluster, "forgotten", 3) == {first: expected, second: expected}
    assert (first, 1, 2) in cuts(cluster, "forgotten", before)
    assert differences(cluster, "forgotten") == []
