"""Delivery by chance: requests and answers get lost, leaders refuse, and a producer goes on.

With numbers every record is stored once and in order, whatever happens; without them it is not.
"""

import random
from types import SimpleNamespace as Message

import pytest

from engine.errors import ApiException, ErrorCode
from engine.storage.producers import Producers
from engine.wire.apis import Api
from tests.unit.client.producing import Desk, Sent

BIG = 150  # bytes: two of them do not fit in one batch
RECORDS = 200


class Log:
    """A partition's log as Kafka keeps it, and a network that loses what it likes."""

    def __init__(self, chance: random.Random) -> None:
        self.producers = Producers()
        self.stored: list[str] = []
        self._chance = chance

    def receive(self, sent: Sent) -> None:
        header, found = sent.batches[0]
        fate = self._chance.random()
        if fate < 0.1:
            sent.fail()  # it did not arrive
            return
        if fate < 0.2:
            sent.answer(ErrorCode.not_enough_replicas)  # nothing is stored
            return
        try:
            known = self.producers.check(header)
        except ApiException as refused:
            sent.answer(refused.code)
            return
        offset = len(self.stored)
        if known is None:
            self.producers.apply(header._replace(base_offset=offset))
            self.stored += found
        else:
            offset = known.first_offset
        if fate < 0.3:
            sent.fail()  # the answer did not arrive
        elif fate < 0.4:
            sent.answer(ErrorCode.not_enough_replicas_after_append)  # it is, for now
        else:
            sent.answer(offset=offset)


def run(seed: int, idempotent: bool) -> Log:
    """Send the records until each is acknowledged."""
    chance = random.Random(seed)
    it = Desk({"enable.idempotence": idempotent, "acks": "all", "delivery.timeout.ms": 2**31 - 1})
    log, in_flight, number = Log(chance), list[Sent](), 0
    for _ in range(20_000):
        if number < RECORDS and chance.random() < 0.5:
            it.add(0, b"%d" % number + b"." * chance.randrange(BIG))
            number += 1
        for sent in it.step(0.05):
            if sent.ask.api is Api.INIT_PRODUCER_ID:
                answer = Message(error_code=ErrorCode.none, producer_id=7, producer_epoch=0)
                sent.core.answered(sent.ask, answer, it.now)
            else:
                in_flight.append(sent)
        if in_flight and chance.random() < 0.7:
            log.receive(in_flight.pop(0))  # a connection keeps the order
        if number == RECORDS and not it.accumulator.records:
            break
    assert not it.accumulator.records, f"seed {seed}: it never came to an end"
    assert {error for _, error, _ in it.told} == {None}
    return log


@pytest.mark.parametrize("seed", range(40))
def test_by_chance_every_record_is_stored_once_and_in_order(seed: int) -> None:
    stored = [int(value.rstrip(".")) for value in run(seed, idempotent=True).stored]
    assert stored == list(range(RECORDS))


def test_by_chance_without_numbers_it_is_not_so() -> None:
    doubled = reordered = 0
    for seed in range(10):
        stored = [int(value.rstrip(".")) for value in run(seed, idempotent=False).stored]
        assert set(stored) == set(range(RECORDS))
        firsts = list(dict.fromkeys(stored))
        doubled += len(stored) > RECORDS
        reordered += firsts != sorted(firsts)
    assert doubled and reordered
