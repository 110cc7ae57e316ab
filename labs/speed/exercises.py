"""The exercises of 08_speed, and how each is judged.

batched    a function that puts records into requests, judged by its requests
codec_of   a function that names the codec of a batch, beside batches of each codec
fewest     settings of a producer, judged by the bytes in a live log
meets      settings of a producer, judged by its latency and its requests
cures      a function that finds a slow reader, judged by what the reader does afterwards
enough     a number of partitions, judged by a group under load and by its batches
"""

import random
import time
from collections.abc import Callable

from lab import best_of_three

from engine import Cluster, Consumer
from engine.storage import records
from engine.storage.batch import Codec
from engine.storage.records import Record
from speed import shared, slow_reader
from widgets import Trial
from widgets.exercise import Code
from widgets.log.fields import count
from widgets.measure.latency_view import percentile

Requests = list[list[int]]

# -- batched ---------------------------------------------------------------------------------------


def batched() -> Trial:
    return Trial(
        "A batcher that keeps the order, and needs as few requests as the limit allows",
        _batches,
        hint="Keep a list that is open. When must it be sent: before or after the next record is "
        "added? And what is left at the end?",
    )


def _batches(code: Code) -> str:
    chance = random.Random(3)
    cases = [([], 100), ([40, 60, 1], 100), ([500, 10, 10], 100), ([10, 500, 10], 100)]
    cases += [([chance.randint(1, 60) for _ in range(200)], 100)]
    for sizes, limit in cases:
        requests: Requests = []
        try:
            code(lambda batch, to=requests: to.append(list(batch)), list(sizes), limit)
        except Exception as error:  # the learner's, and told
            return f"it raises {type(error).__name__}: {error}"
        if wrong := _wrong(requests, sizes, limit):
            return wrong
    return ""


def _wrong(requests: Requests, sizes: list[int], limit: int) -> str:
    few = f"for the sizes {str(sizes[:6])[:-1]}{', ...' if len(sizes) > 6 else ''}]"
    if [size for each in requests for size in each] != sizes:
        return f"{few} not every record is sent once, in order"
    for each in requests:
        if not each:
            return f"{few} a request is empty"
        if len(each) > 1 and sum(each) > limit:
            return f"{few} a request of {sum(each)} bytes has more than {limit}"
    least = _least(sizes, limit)
    if len(requests) > least:
        return f"{few} it sends {len(requests)} requests, and {least} are enough"
    return ""


def _least(sizes: list[int], limit: int) -> int:
    """To fill each request as far as it goes needs the fewest, if the order is kept."""
    requests, used = 0, limit + 1
    for size in sizes:
        if used + size > limit:
            requests, used = requests + 1, 0
        used += size
    return requests


# -- codec_of --------------------------------------------------------------------------------------


def codec_of() -> Trial:
    return Trial(
        "A function of a batch's bytes: the name of its codec",
        _names,
        hint="Two bytes are the attributes. Which of their bits are the codec?",
    )


def _names(code: Code) -> str:
    lines = shared.log_lines(20)
    for number, codec in enumerate([*Codec, *reversed(Codec)]):
        rows = [Record(n, n, b"key", line) for n, line in enumerate(lines)]
        batch = records.encode(rows, codec=codec, transactional=number > len(Codec))
        try:
            found = code(bytes(batch))
        except Exception as error:  # the learner's, and told
            return f"it raises {type(error).__name__}: {error}"
        if found != codec.name.lower():
            return f"a batch with {codec.name.lower()} is named {found!r}"
    return ""


# -- fewest ----------------------------------------------------------------------------------------

LINES = 1000
SHARE = 0.3  # of the bytes of the lines


def fewest(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "Settings with which 1,000 log lines take 30 percent of their bytes in the log",
        lambda code: _few(cluster(), code),
        hint="Which codec compresses best? And how many lines should it see at once?",
    )


def _few(cluster: Cluster, code: Code) -> str:
    topic, lines = cluster.topic("fewest", replicas=[1]), shared.log_lines(LINES)
    try:
        with cluster.producer(code()) as producer:
            for line in lines:
                producer.produce(topic, line)
                time.sleep(0.001)
            producer.flush()
    except Exception as error:  # the learner's, and told
        return f"the producer got {type(error).__name__}: {error}"
    batches = shared.batches(cluster, topic)
    stored, plain = sum(it.size for it in batches), sum(map(len, lines))
    if sum(it.count for it in batches) != LINES:
        return "not every line is in the log"
    if stored <= SHARE * plain:
        return ""
    return f"{len(batches)} batches take {stored / plain:.0%} of the bytes of the lines"


# -- meets -----------------------------------------------------------------------------------------

STREAM = 400  # records
PAUSE = 0.005  # seconds between two
WITHIN = 1000.0  # ms, from produce() to the answer
PER_REQUEST = 10  # records, on average
LATE, FEW = "p99 is", "there were"  # what a busy machine may bring about, too


def meets(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "Settings for 200 records a second: p99 within a second, and ten records in a request",
        lambda code: _best(cluster(), code),
        hint="How many records come in one linger? And what else is in that second?",
    )


def _best(cluster: Cluster, code: Code) -> str:
    """Of three streams: a machine that is slow for a moment is not the settings' fault."""
    return best_of_three(
        lambda: _meets(cluster, code), lambda said: not said.startswith((LATE, FEW))
    )


def _meets(cluster: Cluster, code: Code) -> str:
    topic, latencies = cluster.topic("meets", replicas=[1]), list[float]()
    try:
        with cluster.producer(code()) as producer:
            producer.list_topics(topic)  # the leader is known before the first record
            for number in range(STREAM):
                producer.produce(
                    topic,
                    str(number),
                    on_delivery=lambda _, message: latencies.append(
                        (message.latency() or 0) * 1000
                    ),
                )
                producer.poll(PAUSE)
            producer.flush()
    except Exception as error:  # the learner's, and told
        return f"the producer got {type(error).__name__}: {error}"
    batches = shared.batches(cluster, topic)
    if sum(it.count for it in batches) != STREAM:
        return "not every record is in the log"
    if PER_REQUEST * len(batches) > STREAM:
        return f"{FEW} {len(batches)} requests for all of {STREAM} records: not ten in each"
    late = percentile(latencies, 99)
    return f"{LATE} {late:.0f} ms" if late > WITHIN else ""


# -- cures -----------------------------------------------------------------------------------------


def cures(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "A function that names the slow reader, and the one setting that makes it like the others",
        lambda code: _cured(cluster(), code),
        hint="What can take long: many answers, or each of them? Which setting of a consumer says "
        "how much an answer brings, and which one how much there must be?",
    )


def _cured(cluster: Cluster, code: Code) -> str:
    for number, planted in enumerate(slow_reader.CASES, 1):
        try:
            name, settings = code(slow_reader.read(cluster, planted))
        except Exception as error:  # the learner's, and told
            return f"in case {number} it raises {type(error).__name__}: {error}"
        if name not in slow_reader.NAMES:
            return f"in case {number} it names {name!r}, and no reader is called so"
        if not isinstance(settings, dict) or len(settings) != 1:
            return f"in case {number} it gives {settings!r}, and not one setting and its value"
        changed = {**planted, name: {**planted.get(name, {}), **settings}}
        try:
            again = slow_reader.read(cluster, changed)
        except Exception as error:  # of a consumer that refuses the settings
            return f"in case {number} {name} got {type(error).__name__}: {error}"
        if still := slow_reader.slow(again):
            return f"in case {number}, with your setting for {name}, {still}"
    return ""


# -- enough ----------------------------------------------------------------------------------------

LOAD = 400  # orders in a round
TIMES = 4  # rounds
READERS, HANDLED = 6, 100  # readers in the group, and how many orders each handles in a round
FULL = 20  # orders in a batch, on average
MOST = 100  # partitions


def enough(cluster: Callable[[], Cluster]) -> Trial:
    return Trial(
        "A number of partitions with which six readers keep up, and a batch holds twenty orders",
        lambda code: _enough(cluster(), code),
        hint="A partition belongs to one reader. How many orders does the reader with the most "
        "partitions get? And how many batches are there in a round?",
    )


def _enough(cluster: Cluster, code: Code) -> str:
    try:
        partitions = code()
    except Exception as error:  # the learner's, and told
        return f"it raises {type(error).__name__}: {error}"
    if type(partitions) is not int or not 1 <= partitions <= MOST:
        return f"it gives {partitions!r}, and not a whole number from 1 to {MOST}"
    topic = cluster.topic("load", partitions=partitions, replicas=1)
    waiting, most = _under_load(cluster, topic, partitions)
    if waiting:
        return (
            f"after {TIMES} rounds {count(waiting, 'order')} wait: one reader got {most} in a "
            f"round, and it handles {HANDLED}"
        )
    batches = sum(len(shared.batches(cluster, topic, each)) for each in range(partitions))
    held = TIMES * LOAD / batches
    if held < FULL:
        return f"the readers keep up, but a batch holds {held:.0f} orders on average, not {FULL}"
    return ""


def _under_load(cluster: Cluster, topic: str, partitions: int) -> tuple[int, int]:
    """How many orders are left after the rounds, and how many one reader got in one, at most."""
    settings = {"group.id": topic, "auto.offset.reset": "earliest", "heartbeat.interval.ms": 200}
    readers = [cluster.consumer(settings) for _ in range(READERS)]

    def joined() -> bool:
        for each in readers:
            each.poll(0)
        known = sum(len(each.assignment()) for each in readers)
        return known == partitions and shared.settled(cluster, topic, READERS, partitions)

    try:
        for each in readers:
            each.subscribe([topic])
        cluster.wait("a group of six", joined)
        left, most = [0] * READERS, 0
        for number in range(TIMES):
            orders = [f"order {number * LOAD + order}" for order in range(LOAD)]
            cluster.write(topic, orders, key=str, linger_ms=10_000, batch_size=1_000_000)
            waiting = [_waiting(each) for each in readers]
            most = max([most, *(now - old for now, old in zip(waiting, left, strict=True))])
            left = [max(it - HANDLED, 0) for it in waiting]
            for each, orders_left in zip(readers, waiting, strict=True):
                _handle(cluster, each, min(orders_left, HANDLED))
        return sum(left), most
    finally:
        for each in readers:
            each.close()


def _waiting(reader: Consumer) -> int:
    """How many orders are in its partitions that it has not handled."""
    places = reader.position(reader.assignment())
    return sum(reader.get_watermark_offsets(it)[1] - max(it.offset, 0) for it in places)


def _handle(cluster: Cluster, reader: Consumer, orders: int) -> None:
    got = 0

    def all_came() -> bool:
        nonlocal got
        got += len(reader.consume(orders - got, 0.1)) if got < orders else 0
        return got >= orders

    cluster.wait(f"{count(orders, 'order')} of a reader", all_came)
