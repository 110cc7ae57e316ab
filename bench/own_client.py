"""One load on our own client, in a process of its own: it prints the seconds that it took.

    own_client.py produce|consume|group BOOTSTRAP TOPIC COUNT

It uses the public classes only, so that `bench.checkout` can run it with any checkout's Python.
"""

import sys
import threading
import time

import engine

VALUE = bytes(200)
PATIENCE = 60.0
GROUP = f"bench-{time.time_ns()}"


def produce(bootstrap: str, topic: str, records: int) -> float:
    producer = engine.Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    producer.list_topics(topic, 10)  # connects
    began = time.perf_counter()
    for _ in range(records):
        while True:
            try:
                producer.produce(topic, VALUE, partition=0)
                break
            except BufferError:
                producer.poll(0.01)
    assert producer.flush(PATIENCE) == 0
    return time.perf_counter() - began


def consume(bootstrap: str, topic: str, records: int) -> float:
    produce(bootstrap, topic, records)
    consumer = engine.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.list_topics(topic, timeout=10)
    began = time.perf_counter()
    consumer.assign([engine.TopicPartition(topic, 0, 0)])
    left = records
    while left:
        left -= len(consumer.consume(min(left, 500), 1.0))
    spent = time.perf_counter() - began
    consumer.close()
    return spent


def group(bootstrap: str, topic: str, partitions: int) -> float:
    """A fourth member comes, and goes: until all partitions are owned again, twice."""
    shares: dict[int, int] = {}
    stops = [threading.Event() for _ in range(4)]

    def run(member: int) -> None:
        consumer = engine.Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP})
        consumer.subscribe([topic])
        while not stops[member].is_set():
            consumer.poll(0.02)
            shares[member] = len(consumer.assignment())
        consumer.close()
        shares.pop(member)

    members = [threading.Thread(target=run, args=[each]) for each in range(4)]

    def until(count: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while sorted(shares.values()) != [partitions // count] * count:
            assert time.monotonic() < deadline, shares
            time.sleep(0.005)

    for each in members[:3]:
        each.start()
    until(3)
    began = time.perf_counter()
    members[3].start()
    until(4)
    stops[3].set()
    until(3)
    spent = time.perf_counter() - began
    for stop, each in zip(stops, members, strict=True):
        stop.set()
        each.join(PATIENCE)
    return spent


LOADS = {"produce": produce, "consume": consume, "group": group}

if __name__ == "__main__":
    what, bootstrap, topic, count = sys.argv[1:]
    print(LOADS[what](bootstrap, topic, int(count)))
