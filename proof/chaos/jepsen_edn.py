"""A history of random transactions in EDN, as Jepsen's own checker for Kafka reads it.

    {:index 0 :time 1500000 :process 7 :type :invoke :f :txn :value [[:send 0 41] [:poll]]}
    {:index 1 :time 9100000 :process 7 :type :ok :f :txn
     :value [[:send 0 [12 41]] [:poll {1 [[8 33] [9 35]]}]]}

One operation a line, as in jepsen.tests.kafka: whoever has Jepsen can check the history again.
"""

from collections import defaultdict
from collections.abc import Iterator

from proof.chaos.operations import (
    TXN,
    ClientOperation,
    OperationHistory,
    OperationType,
    PolledValue,
    SentValue,
    Step,
)

NANOSECONDS = 1_000_000_000


def lines(history: OperationHistory) -> Iterator[str]:
    for index, operation in enumerate(history.operations):
        yield (
            f"{{:index {index} :time {round(operation.at * NANOSECONDS)} "
            f":process {operation.process} :type :{operation.type.value} :f :{operation.what} "
            f":value {_value(operation)}}}"
        )


def _value(operation: ClientOperation) -> str:
    if operation.what != TXN:
        return _vector(str(each) for each in operation.partitions)
    is_done = operation.type is not OperationType.INVOKE
    return _vector(_step(each, is_done) for each in operation.steps)


def _step(step: Step, is_done: bool) -> str:
    if isinstance(step, SentValue):
        found = step.value if step.offset is None else f"[{step.offset} {step.value}]"
        return f"[:send {step.partition} {found}]"
    if not is_done:
        return "[:poll]"
    by_partition = defaultdict[int, list[PolledValue]](list)
    for record in step.records:
        by_partition[record.partition].append(record)
    pairs = (
        f"{partition} {_vector(f'[{it.offset} {it.value}]' for it in records)}"
        for partition, records in by_partition.items()
    )
    return f"[:poll {{{', '.join(pairs)}}}]"


def _vector(parts: Iterator[str]) -> str:
    return f"[{' '.join(parts)}]"
