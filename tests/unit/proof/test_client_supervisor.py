"""The processes of clients are kept: one that has ended has a successor, a paused one goes on."""

import sys
from collections import defaultdict

from proof.chaos import client_supervisor
from proof.chaos.client_supervisor import ClientSupervisor
from proof.chaos.wait import until

PROGRAM = """
import sys, time
print("begin", sys.argv[1], flush=True)
if sys.argv[1] == "0": sys.exit(1)
while True:
    time.sleep(0.01)
    print("on", flush=True)
"""


def test_who_has_ended_has_a_successor_and_who_is_paused_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(client_supervisor, "PAUSED", 1.0)
    heard, ended = defaultdict(list), []
    supervisor = ClientSupervisor(
        ["one", "two"],
        lambda name, life: [sys.executable, "-c", PROGRAM, str(life)],
        lambda name, life, line: heard[name, life].append(line),
        tmp_path,
        pauses=0.01,
        ended=ended.append,
    )
    try:
        until(lambda: heard["one", 2] and len(heard["two", 1]) > 3, what="that both say something")
        assert ended == [0]
        before = len(heard["two", 1])
        until(lambda: len(heard["two", 1]) > before, what="that it goes on after a pause")
    finally:
        supervisor.stop()
    assert heard["one", 0] == ["begin 0"]
    assert heard["one", 2][:2] == ["begin 2", "on"]
    assert supervisor.lives == 3
    assert sorted(ended) == [0, 1, 2]


def test_who_is_silent_for_long_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(client_supervisor, "HANGS", 0.5)
    lives = []
    supervisor = ClientSupervisor(
        ["one"],
        lambda name, life: [sys.executable, "-c", "import time; time.sleep(600)"],
        lambda name, life, line: None,
        tmp_path,
        ended=lives.append,
    )
    try:
        until(lambda: lives[:2] == [0, 1], what="two successors")
    finally:
        supervisor.stop()
