"""What the benchmark says about its numbers; the numbers themselves are nobody's to assert."""

import socket
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import bench
from bench.peers import amqp, plain
from bench.peers.apache import Kafka28
from bench.peers.engine import Engine
from bench.peers.peer import Load, Peer, Size, percentile
from bench.picture import picture
from bench.rounds import measure, ratios
from bench.table import number, ratio_table
from bench.warm import pairs_table

MODULES = [it.name for it in walk_packages(bench.__path__, "bench.") if "__main__" not in it.name]
SVG = "{http://www.w3.org/2000/svg}"


class Scripted(Peer):
    """Its loads take the seconds that it was given, one after the other."""

    def __init__(self, name: str, **seconds: list[float]) -> None:
        self.name = name  # type: ignore[misc]
        self.seconds = {load: iter(values) for load, values in seconds.items()}

    def start(self, home: Path) -> None: ...

    def stop(self) -> None: ...

    def loads(self, size: Size) -> dict[str, Load]:
        return {name: values.__next__ for name, values in self.seconds.items()}


@pytest.mark.parametrize("name", MODULES)
def test_each_benchmark_can_be_loaded(name: str) -> None:
    """Nobody runs most of them for weeks, while what they import changes."""
    import_module(name)


def test_the_first_round_warms_up_and_does_not_count() -> None:
    ours = Scripted("ours", produce=[9, 1, 2])
    theirs = Scripted("theirs", produce=[9, 3, 4], consume=[9, 5, 6])
    told: list[str] = []
    assert measure([ours, theirs], Size(), 2, told.append) == {
        "produce": {"ours": [1, 2], "theirs": [3, 4]},
        "consume": {"theirs": [5, 6]},
    }
    assert told[0] == "round 0 of 2: produce" and len(told) == 6
    ours = Scripted("ours", produce=[9, 8, 1])
    assert measure([ours], Size(), 1, told.append, warm_up=2) == {"produce": {"ours": [1]}}


def test_a_ratio_is_taken_within_a_round_and_the_median_of_all() -> None:
    """The machine was ten times slower in the second round, for both: that changes nothing."""
    seconds = {"produce": {"ours": [1.0, 10.0, 1.0], "theirs": [2.0, 20.0, 3.0]}}
    assert ratios(seconds, "ours") == {"produce": {"theirs": 2.0}}


def test_pairs_are_told_with_their_median_and_the_ratio_of_the_best_times() -> None:
    seconds = {"produce": {Engine.name: [2.0, 4.0, 1.0], Kafka28.name: [4.0, 4.0, 0.5]}}
    assert pairs_table(seconds, 3).splitlines()[2].split() == [
        *("|", "produce", "|", "1.0", "|", "0.50", "|", "2.0", "1.0", "0.50", "|"),
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0313, "0.031"), (0.9, "0.90"), (1.26, "1.3"), (9.96, "10"), (27.4, "27")],
)
def test_two_digits_mean_something(value: float, shown: str) -> None:
    assert number(value) == shown


def test_a_table_has_a_gap_where_a_peer_has_no_such_load() -> None:
    assert ratio_table({"consume": {"RabbitMQ": 22}, "produce": {"mock": 0.9, "RabbitMQ": 43}}) == (
        "|         | mock | RabbitMQ |\n"
        "| ------- | ---: | -------: |\n"
        "| consume |      |       22 |\n"
        "| produce | 0.90 |       43 |"
    )


def test_a_bar_goes_to_the_right_if_we_are_faster() -> None:
    drawn = ET.fromstring(picture({"produce": {"a < b": 0.5, "c": 4.0}}, "Ratios"))
    slower, faster = (bar for bar in drawn.iter(f"{SVG}rect") if bar.get("class"))
    one = float(slower.attrib["x"]) + float(slower.attrib["width"])
    assert (slower.get("class"), faster.get("class")) == ("slower", "faster")
    assert float(faster.attrib["x"]) == pytest.approx(one, abs=0.2)
    # Twice as slow is half as long as four times as fast: the scale is logarithmic.
    lengths = [float(bar.attrib["width"]) for bar in (slower, faster)]
    assert lengths[1] == pytest.approx(2 * lengths[0], abs=0.2)
    assert "a < b" in [text.text for text in drawn.iter(f"{SVG}text")]


def test_a_percentile_is_one_of_the_values() -> None:
    values = [float(value) for value in range(100, 0, -1)]
    assert (percentile(values, 0.5), percentile(values, 0.99)) == (51, 100)
    assert percentile([7.0], 0.99) == 7


@pytest.fixture
def slivers(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a connection, of which ours gets three bytes at a time."""
    monkeypatch.setattr(plain, "CHUNK", 3)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_answers_are_counted_however_they_are_cut(
    slivers: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = slivers
    hang_up_after(theirs, b'{"seq": 1}{"seq": 2}{"seq": 3}')
    plain.pump(ours, b"requests", b'"seq"', 3)
    with pytest.raises(ConnectionError):
        plain.pump(ours, b"", b'"seq"', 1)


def test_confirms_come_in_any_order_and_several_at_once(
    slivers: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = slivers
    confirms = [confirm(3), confirm(2, and_before=True), confirm(5), confirm(4)]
    hang_up_after(theirs, b"".join(confirms))
    amqp.await_confirms(ours, 5)
    with pytest.raises(ConnectionError):
        amqp.await_confirms(ours, 1)


def confirm(tag: int, *, and_before: bool = False) -> bytes:
    return amqp.method(60, 80, tag.to_bytes(8, "big") + bytes([and_before]))


def hang_up_after(connection: socket.socket, answers: bytes) -> None:
    """So that whoever waits for more gets an error."""
    connection.sendall(answers)
    connection.shutdown(socket.SHUT_WR)
