"""Everything at once: kills, pauses and cuts in an order that nobody chose, and one verdict.

A shorter storm of the same faults is in test_chaos.py.
"""

from random import Random

import pytest

from proof.chaos.storm import FAULTS, heal

STEPS = 5


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_happens(cluster, work, seed):
    """Two faults at a time, on brokers that may be the same; then all is well for a moment."""
    random, story = Random(seed), []
    for _ in range(STEPS):
        for fault in random.sample(FAULTS, 2):
            broker, other = random.sample(list(cluster.brokers), 2)
            if cluster.child(broker).alive and not cluster.child(broker).paused:
                fault(cluster, broker, other)
                story.append(f"{fault.__name__} {broker} {other}")
        work.write(random.randrange(50, 2000))
        heal(cluster)
        work.advance(count=20)
    verdict = work.verdict()
    assert verdict.good, f"{verdict}\n{story}"
