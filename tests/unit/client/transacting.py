"""A producer's transactions at work by hand, besides its batches: see producing.py.

it = Desk()
it.start()                         our coordinator is broker 5, we are producer 7 in epoch 0
it.add(0, b"a record")
it.answer(Api.ADD_PARTITIONS_TO_TXN)
it.produced()                      what goes out now is stored
"""

from types import SimpleNamespace as Message
from typing import Any

import pytest

from engine import errors
from engine.client.core import Ask
from engine.client.producing.transaction_manager import TransactionCall, TransactionManager
from engine.client.values import KafkaError, KafkaException
from engine.errors import ErrorCode
from engine.wire.apis import Api
from tests.unit.client import producing
from tests.unit.client.answers import found
from tests.unit.client.producing import Sent

COORDINATOR, OF_THE_GROUP = 5, 6
NONE = ErrorCode.none


class Desk(producing.Desk):
    def __init__(self, given: dict[str, Any] | None = None, leaders: Any = (1,)) -> None:
        super().__init__({"transactional.id": "till-1"} | (given or {}), leaders)

    @property
    def core(self) -> TransactionManager:
        assert self.transactions is not None
        return self.transactions

    def asks(self, after: float = 0.0) -> list[Ask]:
        """All that goes out now."""
        self.now += after
        asks = list(self.sender.step(self.now, self.view))
        return [*asks, *self.core.step(self.now, self.view)]

    def ask(self, api: Api, after: float = 0.0) -> Ask:
        """The only one."""
        asks = self.asks(after)
        assert [each.api for each in asks] == [api]
        return asks[0]

    def say(self, ask: Ask, code: ErrorCode = NONE, **more: Any) -> None:
        self.core.answered(ask, response(ask, code, **more), self.now)

    def lose(self, ask: Ask, code: ErrorCode = ErrorCode.network_exception) -> None:
        self.core.failed(ask, errors.ApiException(code, "it broke"), self.now)

    def answer(self, api: Api, code: ErrorCode = NONE, after: float = 0.0, **more: Any) -> Ask:
        """To what is asked now."""
        ask = self.ask(api, after)
        self.say(ask, code, **more)
        return ask

    def produces(self, after: float = 0.0) -> list[Sent]:
        asks = self.asks(after)
        assert {each.api for each in asks} <= {Api.PRODUCE}
        return [Sent(self, each) for each in asks]

    def produced(self) -> list[Sent]:
        sent = self.produces()
        for each in sent:
            each.answer()
        return sent

    def start(self) -> None:
        """To within a transaction."""
        operation = self.core.init()
        self.answer(Api.FIND_COORDINATOR)
        self.answer(Api.INIT_PRODUCER_ID)
        assert operation.done
        self.core.returned(operation)
        self.core.begin()

    def write(self, *values: bytes) -> None:
        """Records to partition 0, stored: there is something to end."""
        self.add(0, *values, told=False)
        self.answer(Api.ADD_PARTITIONS_TO_TXN)
        self.produced()


def response(ask: Ask, code: ErrorCode, producer_id: int = 7, epoch: int = 0) -> Message:
    """The same code for each partition."""
    match ask.api:
        case Api.FIND_COORDINATOR:
            broker = OF_THE_GROUP if ask.request.key_type == 0 else COORDINATOR
            return found(0 if code else broker)
        case Api.INIT_PRODUCER_ID:
            return Message(error_code=code, producer_id=producer_id, producer_epoch=epoch)
        case Api.ADD_PARTITIONS_TO_TXN:
            return added(dict.fromkeys(ask.about, code))
        case Api.TXN_OFFSET_COMMIT:
            rows = [
                Message(
                    name=topic.name,
                    partitions=tuple(
                        Message(partition_index=row.partition_index, error_code=code)
                        for row in topic.partitions
                    ),
                )
                for topic in ask.request.topics
            ]
            return Message(topics=tuple(rows))
        case _:
            return Message(error_code=code)


def added(codes: Any) -> Message:
    """What becomes of partitions that were to be added."""
    return Message(
        results=tuple(
            Message(
                name=topic,
                results_by_partition=(Message(partition_index=number, partition_error_code=code),),
            )
            for (topic, number), code in codes.items()
        )
    )


def started(**more: Any) -> Desk:
    it = Desk({key.replace("_", "."): value for key, value in more.items()}, leaders=(1, 2, 1))
    it.start()
    return it


def aborts(operation: TransactionCall) -> KafkaError:
    error = operation.error
    assert operation.done and error is not None
    assert error.txn_requires_abort() and not error.fatal() and not error.retriable()
    return error


def raised(call: Any, *arguments: Any) -> KafkaError:
    with pytest.raises(KafkaException) as caught:
        call(*arguments)
    error: KafkaError = caught.value.args[0]
    return error
