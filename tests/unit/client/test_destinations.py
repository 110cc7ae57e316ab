"""Which queue of the producer a record goes into: partitioner and batches together."""

import random
from types import SimpleNamespace
from typing import cast

from engine.client.destinations import Destinations
from engine.client.network import NetworkClient
from engine.client.partitioner import StickyPartitioner, partition_of
from engine.client.producing.batch import max_size
from tests.unit.client.producing import Desk

KEY = b"key"


def test_a_batch_that_a_key_fills_moves_the_records_without_one() -> None:
    """As in Kafka. Otherwise, where both take turns, only a record with a key ever meets a full
    batch, and the others stay in its partition for ever."""
    desk = Desk(leaders=(1, 1, 1))
    home = partition_of(KEY, 3)
    chance = random.Random(1)
    sticky = StickyPartitioner(lambda below: home if below == 3 else chance.randrange(below))
    network = cast(NetworkClient, SimpleNamespace(view=desk.view))
    destinations = Destinations(desk.settings, network, desk.accumulator, sticky)
    found = []
    for number in range(100):
        key = KEY if number % 2 == 0 else None
        size = max_size(key, b"a record", ())
        queue = destinations.queue("t", key, -1, size, 1.0)
        found.append((key, queue.partition.partition))
        desk.accumulator.append(queue, size, key, b"a record", 1000, (), 0.0)
    assert {partition for key, partition in found if key} == {home}
    assert {partition for key, partition in found if not key} == {0, 1, 2}
