"""`cluster.faults`: what can go wrong with a broker, a server of the metadata, or a link of two.

    faults.kill(2)   faults.pause(3)   faults.resume(3)   faults.stop_broker(1)   faults.restart(2)
    faults.cut(1, 3)   faults.cut(1, "zookeeper")   faults.slow(1, 2, 300)   faults.heal()

The faults are real: kill is SIGKILL, pause is SIGSTOP, and a broker is restarted by the command
that started it, on the same port and directory. A link that is cut or slow stays so until `heal`,
also when its broker is restarted meanwhile.
"""

import time
from collections.abc import Iterable

from engine.cluster.broker_processes import BrokerProcesses
from engine.cluster.link_faults import End, LinkFaults, is_zookeeper, no_link
from engine.cluster.metadata_servers import MetadataServers
from engine.cluster.observer import Observer
from engine.cluster.request_faults import RequestFaultSender
from engine.cluster.state import Status
from engine.errors import invalid_request

STOP_TIMEOUT_S = 30.0  # for a broker to hand over leadership and close its logs
CHECK_S = 0.02  # between two checks


class Faults:
    def __init__(
        self,
        processes: BrokerProcesses,
        servers: MetadataServers,
        observer: Observer,
        links: LinkFaults,
        requests: RequestFaultSender,
    ) -> None:
        self._processes = processes
        self._servers = servers
        self._observer = observer
        self._links = links
        self._requests = requests

    # -- of brokers, ZooKeeper servers and controllers -------------------------------------

    def kill(self, broker: End) -> None:
        """SIGKILL: as a crash of the machine, except that the page cache survives.

        A broker, a ZooKeeper server ("zookeeper-2"), or all ("zookeeper"); a controller
        ("controller-1"), or all ("controllers"). Nothing happens to a broker that is down.
        """
        if isinstance(broker, str):
            return self._servers.kill(broker)
        node = self._processes[broker]
        if node.status is Status.DOWN:
            return
        node.expected = False
        if node.status is Status.UP:
            self._observer.collect([broker])  # its events are lost when it ends
        node.child.kill()
        self._processes.ended(node, "killed")

    def pause(self, broker: End) -> None:
        """SIGSTOP: as in a long garbage collection. Nothing happens to a broker that is down."""
        if isinstance(broker, str):
            return self._servers.pause(broker)
        node = self._processes[broker]
        if node.status is Status.UP:
            node.child.pause()
            self._observer.note("broker.paused", broker=broker)

    def resume(self, broker: End) -> None:
        """SIGCONT, to a broker or a ZooKeeper server that was paused."""
        if isinstance(broker, str):
            return self._servers.resume(broker)
        node = self._processes[broker]
        if node.status is Status.PAUSED:
            node.child.resume()
            self._observer.note("broker.resumed", broker=broker)

    def stop_broker(self, broker: int) -> int:
        """SIGTERM: it hands over leadership and closes its logs. Returns its exit code."""
        node = self._processes[broker]
        node.expected = False
        node.child.ask_to_end()
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while node.status is Status.UP and time.monotonic() < deadline:
            self._observer.collect([broker])  # the events of its shutdown
            time.sleep(CHECK_S)
        code = node.child.terminate(0)
        self._processes.ended(node, "stopped", code=code)
        return code

    def restart(self, broker: End, *, wait: bool = True) -> None:
        """Start a broker that is down; one that is up is stopped first."""
        if isinstance(broker, str):
            return self._servers.restart(broker, wait=wait)
        node = self._processes[broker]
        if node.status is not Status.DOWN:
            self.stop_broker(broker)
        self._processes.launch(node)
        if wait:
            self._processes.await_ready(node)

    def mend(self) -> None:
        """Undo every fault: heal links, start what is down, resume what is paused."""
        self.heal()  # first: a server of ZooKeeper that is cut off never has a quorum
        self._servers.mend()
        for node in self._processes:
            self.resume(node.number)
        for node in self._processes:
            if node.status is Status.DOWN:
                self.restart(node.number)

    # -- of links --------------------------------------------------------------------------

    def cut(self, one: End, other: End, both: bool = True) -> None:
        """Between two brokers, or a broker and "zookeeper": messages are held back, without error.

        Or between a server of an ensemble ("zookeeper-2"), or a controller ("controller-1"), and a
        broker, or another server or controller. "controllers": each of them.
        `both=False`: only messages from the first to the other.
        """
        self._check_ends(one, other, one, *([other] if both or is_zookeeper(one) else []))
        kept_by = []
        for source, target in self._pairs(one, other):
            kept_by.append(self._links.cut(source, target))
            if both:
                kept_by.append(self._links.cut(target, source))
        self._send(kept_by)
        self._observer.note("link.cut", one=one, other=other, both=both)

    def slow(self, one: End, other: End, ms: int) -> None:
        """Delay every message between the two, in either direction, by `ms`."""
        self._check_ends(one, other, one, other)
        for pair in self._pairs(one, other):
            self._send(self._links.slow(*pair, ms))
        self._observer.note("link.slowed", one=one, other=other, ms=ms)

    def heal(self, one: End | None = None, other: End | None = None) -> None:
        """Undo all cuts, delays and faults of answers, or those of the link between two ends.

        It is an event only if there was something to undo.
        """
        before, ends = [*self._links.states()], {}
        if one is None or other is None:
            self._send(self._links.heal(), heal=True)
            self._requests.heal()
        else:
            self._check_ends(one, other)
            for pair in self._pairs(one, other):
                self._send(self._links.heal_link(*pair))
            ends = {"one": one, "other": other}
        if before != [*self._links.states()]:
            self._observer.note("link.healed", **ends)

    def _pairs(self, one: End, other: End) -> list[tuple[End, End]]:
        """The links between the two: one, or those to each of the controllers."""
        ends = self._servers.ends
        return [(here, there) for here in ends(one) for there in ends(other) if here != there]

    def _check_ends(self, one: End, other: End, *kept_by: End) -> None:
        names = self._servers.link_names
        brokers = {*self._processes.numbers}
        known = {one, other} <= {*brokers, *names} and not self._servers.within(one, other)
        if one == other or not known:
            raise no_link(one, other, names)
        if kafka := [end for end in {*kept_by} & brokers if self._processes[end].is_kafka]:
            raise invalid_request(
                f"broker {kafka[0]} is one of Apache Kafka, which does not hold back its messages: "
                f"only cut(N, {kafka[0]}, both=False) from a broker N of ours is possible"
            )

    def _send(self, owners: Iterable[End], heal: bool = False) -> None:
        """A paused broker applies them when it is resumed, one that is down when it starts."""
        for end in sorted(set(owners), key=str):
            if isinstance(end, str):
                self._servers.change_links(end, self._links.of(end), heal=heal)
                continue
            request = {"ask": "links", "change": self._links.of(end), "heal": heal}
            self._observer.request_running(self._processes[end], request)
