"""What docs/using.md shows of the clients runs, with ours and with confluent-kafka alike."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from tests.interop.transacting import READERS
from tests.modes import MODES, made

PAGE = Path(__file__).resolve().parents[2] / "docs/using.md"
HOME = {"AdminClient": "confluent_kafka.admin"}  # the others are at confluent_kafka's top
ADDRESS = "127.0.0.1:9092"
FIRST = r"^( +)from engine import (Producer|Consumer|AdminClient)\n"
SNIPPET = re.compile(FIRST + r"(?:\1.*\n|\n)+", re.MULTILINE)


NAMES = ["Producer", "Consumer", "AdminClient", "Producer"]


def snippets():
    return [(found[2], dedent(found[0])) for found in SNIPPET.finditer(PAGE.read_text())]


def run(name, text, client, address):
    text = text.replace(ADDRESS, address)
    if client == "confluent":
        home = HOME.get(name, "confluent_kafka")
        text = text.replace("from engine import", f"from {home} import")
    exec(compile(text, f"{PAGE.name}: {name}", "exec"), {})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("client", ["ours", "confluent"])
def test_each_snippet_runs_with_both(client, mode, capsys):
    assert [name for name, _ in snippets()] == NAMES
    with made(1, mode, config={"group.initial.rebalance.delay.ms": "0"}) as cluster:
        for name, text in snippets():
            run(name, text, client, cluster.bootstrap)
        for topic, value in {"dishes": b"two teas", "bills": b"table 4: 6.40"}.items():
            assert READERS[client](cluster.bootstrap, topic, 1, "read_committed") == [value]
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "b'table 4' b'two teas' 0",
        "['__consumer_offsets', 'orders']",
        "['kitchen']",
    ]
