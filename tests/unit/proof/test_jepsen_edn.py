"""A history in EDN, and an operation on its way from a client's process."""

import json

from proof.chaos.jepsen_edn import lines
from proof.chaos.operations import (
    ASSIGN,
    TXN,
    ClientOperation,
    OperationHistory,
    OperationType,
    Poll,
    PolledValue,
    SentValue,
    as_line,
    from_line,
)

INVOKE, OK, INFO = OperationType.INVOKE, OperationType.OK, OperationType.INFO
DONE = (
    SentValue(0, 41, 12),
    Poll((PolledValue(1, 8, 33), PolledValue(0, 3, 7), PolledValue(1, 9, 35))),
    SentValue(2, 42),
    Poll(),
)


def test_a_history_is_one_operation_a_line():
    history = OperationHistory(
        [
            ClientOperation(8, INVOKE, ASSIGN, partitions=(0, 2), at=0.0),
            ClientOperation(7, INVOKE, TXN, (SentValue(0, 41), Poll()), at=0.0015),
            ClientOperation(7, OK, TXN, DONE, at=0.25),
            ClientOperation(9, INFO, TXN, (SentValue(0, 43),), at=1.0),
        ]
    )
    assert list(lines(history)) == [
        "{:index 0 :time 0 :process 8 :type :invoke :f :assign :value [0 2]}",
        "{:index 1 :time 1500000 :process 7 :type :invoke :f :txn :value [[:send 0 41] [:poll]]}",
        "{:index 2 :time 250000000 :process 7 :type :ok :f :txn :value [[:send 0 [12 41]] "
        "[:poll {1 [[8 33] [9 35]], 0 [[3 7]]}] [:send 2 42] [:poll {}]]}",
        "{:index 3 :time 1000000000 :process 9 :type :info :f :txn :value [[:send 0 43]]}",
    ]


def test_an_operation_comes_whole_from_another_process():
    done = ClientOperation(7, OK, TXN, DONE, (0, 2), at=5.0)
    line = json.loads(json.dumps(as_line(done)))
    assert from_line(7, line, began=0.0) == done
    assert from_line(7, line, began=1.5).at == 3.5
