"""Whatever happens to a group: in the end all agree, and nobody ever reads what is not theirs.

The world checks its invariants whenever something has happened. Here it is given something to
check: members that come, go, hang, are cut off or killed, and coordinators that die.
"""

from itertools import pairwise
from random import Random

import pytest

from tests.unit.client.world import World

EAGER = {"partition_assignment_strategy": ("range",)}
STICKY = {"partition_assignment_strategy": ("sticky",)}
COOPERATIVE = {"partition_assignment_strategy": ("cooperative-sticky",)}


@pytest.mark.parametrize("strategy", [EAGER, STICKY, COOPERATIVE], ids=["range", "sticky", "coop"])
@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_they_agree_in_the_end(strategy, seed):
    """The world checks its invariants at each step; here it is given something to check."""
    world, random = World({"t": 7, "u": 3}), Random(seed)
    brokers = iter(range(2, 100))

    def come():
        name = f"m{len(world.apps)}"
        static = {"group_instance_id": name} if random.random() < 0.3 else {}
        world.app(name, *random.choice([("t",), ("u",), ("t", "u")]), **strategy, **static)

    def go(how):
        if len(world.members) > 1:
            how(random.choice(world.members))

    def hang(app):
        app.is_polling = False
        world.later(lambda: setattr(app, "is_polling", True), after=random.uniform(1, 400))

    def cut(app):
        app.is_connected = False
        world.later(lambda: setattr(app, "is_connected", True), after=random.uniform(0, 30))

    acts = [come, come, lambda: go(world.kill), lambda: go(lambda app: app.close())]
    acts += [lambda: go(hang), lambda: go(cut), lambda: world.fail_over(next(brokers))]
    come()
    for _ in range(40):
        random.choice(acts)()
        world.run(random.choice([0.001, 0.005, 0.1, 3, 12]))
    world.settle(limit=1000)
    topics = {"t": 7, "u": 3}
    read = {each.topic for app in world.members for each in app.owned}
    assert sum(len(each.owned) for each in world.members) == sum(topics[each] for each in read)
    for before, after in pairwise(sorted(world.generations)):
        assert before < after
