"""What the servers of an ensemble answer becomes reports and events."""

from engine.cluster.znode_watcher import alive
from engine.cluster.zookeeper import NOT_SERVING
from engine.cluster.zookeepers.ensemble_monitor import EnsembleMonitor, ServerReport, parse

SRVR = """\
Zookeeper version: 3.9.5
Latency min/avg/max: 0/0.0/0
Zxid: 0x200000017
Mode: follower
"""
CONS = """\
 /127.0.0.1:43210[1](queued=0,recved=5,sent=5,sid=0x300001b01850000,lop=PING,est=1,to=6000)
 /127.0.0.1:43212[0](queued=0,recved=1,sent=0)
"""
# Of a leader, then of a follower.
DUMPS = """\
SessionTracker dump:
Session Sets (2)/(1):
0 expire at Mon Nov 23 21:50:55 UTC 2026:
1 expire at Mon Nov 23 21:50:56 UTC 2026:
\t0x100001b017c0000
ephemeral nodes dump:
Sessions with Ephemerals (1):
0x100001b017c0000:
\t/controller
SessionTracker dump:
Global Sessions(1):
0x300001b01850000\t18000ms
ephemeral nodes dump:
Sessions with Ephemerals (1):
0x999:
\t/brokers/ids/1
"""


def server(role, epoch=1):
    return ServerReport(role, epoch << 32)


def told(*takes):
    monitor = EnsembleMonitor()
    for number, report in takes:
        monitor.take(number, report)
    return [(kind, facts) for kind, _, facts in monitor.news]


def test_answers_are_parsed():
    assert parse(SRVR, CONS) == ServerReport("follower", 0x200000017, (0x300001B01850000,))
    assert parse(SRVR, CONS).epoch == 2
    assert parse(f"This ZooKeeper instance is {NOT_SERVING}\n", "") == ServerReport("looking")
    assert parse("", "") == ServerReport("looking")


def test_sessions_of_leaders_and_followers_are_alive():
    assert alive(DUMPS) == {0x100001B017C0000, 0x300001B01850000}


def test_a_leader_is_told_once():
    leads = ("zookeeper.leader", {"server": 2, "epoch": 1})
    assert told((1, server("follower")), (2, server("leader")), (2, server("leader"))) == [leads]


def test_a_new_leader_is_told_after_the_loss_of_the_old_one():
    assert told((1, server("leader")), (2, server("follower")), (1, None), (2, server("looking")),
                (2, server("leader", 2))) == [
        ("zookeeper.leader", {"server": 1, "epoch": 1}),
        ("zookeeper.leaderless", {"looking": [2]}),
        ("zookeeper.leader", {"server": 2, "epoch": 2}),
    ]  # fmt: skip


def test_an_old_leader_that_is_back_is_not_believed():
    """It was paused, and does not know yet that another one was elected."""
    assert told((2, server("leader", 2)), (1, server("leader", 1))) == [
        ("zookeeper.leader", {"server": 2, "epoch": 2})
    ]
