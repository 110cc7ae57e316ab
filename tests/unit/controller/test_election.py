"""Who is chosen, and what becomes of the ISR, under each rule."""

import pytest

from engine.controller.election import Elected, Rule, elect
from engine.model import NO_BROKER

OFFLINE, PREFERRED, REASSIGNMENT, SHUTDOWN = Rule


@pytest.mark.parametrize(
    ("rule", "replicas", "isr", "live", "elected"),
    [
        (OFFLINE, (1, 2, 3), (1, 3, 2), (2, 3), Elected(2, (3, 2))),  # not the ISR's first
        (OFFLINE, (1, 2, 3), (1, 3), (2, 3), Elected(3, (3,))),
        (OFFLINE, (1, 2, 3), (1,), (2, 3), Elected(NO_BROKER, (1,))),  # and the ISR stays
        (OFFLINE, (1, 2, 3), (3, 2), (), Elected(NO_BROKER, (3, 2))),
        (PREFERRED, (1, 2, 3), (3, 2, 1), (1, 2, 3), Elected(1, (3, 2, 1))),
        (PREFERRED, (1, 2, 3), (3, 2), (1, 2, 3), Elected(NO_BROKER, (3, 2))),
        (PREFERRED, (1, 2, 3), (3, 2, 1), (2, 3), Elected(NO_BROKER, (3, 2, 1))),
        (REASSIGNMENT, (4, 5), (1, 4, 5), (1, 5), Elected(5, (4, 5))),
        (REASSIGNMENT, (4, 5), (1, 4), (1, 5), Elected(NO_BROKER, (1, 4))),
        (SHUTDOWN, (1, 2, 3), (1, 2, 3), (2,), Elected(2, (2, 3))),  # 3 is dead, not stopping
        (SHUTDOWN, (1, 2, 3), (1,), (2, 3), Elected(NO_BROKER, (1,))),
    ],
)
def test_the_first_replica_in_the_order_of_the_assignment_that_may(
    rule, replicas, isr, live, elected
):
    assert elect(replicas, isr, live, rule=rule, stopping={1}) == elected


def test_an_unclean_election_leaves_its_leader_alone_in_the_isr():
    assert elect((1, 2, 3), (1,), (3, 2), unclean=True) == Elected(2, (2,), clean=False)


def test_an_unclean_election_is_clean_where_it_can_be():
    assert elect((1, 2, 3), (3,), (2, 3), unclean=True) == Elected(3, (3,))
