"""A day on call: a noisy client, a dead broker, a dead ZooKeeper server, a partition that moves.

 0 s   three brokers have orders, one of them has clicks, and the fourth has nothing; a shop
       writes orders, and a noisy client as many clicks as it can
 4 s   each of both gets a quota of 50 KB a second      the noisy one waits, and the shop does not
 8 s   a broker is killed                               partitions are under-replicated
14 s   it is started again                              all are in sync
20 s   the leader of three ZooKeeper servers is killed  another one leads; nothing stops
23 s   it is started again
28 s   clicks move to the fourth broker, with a throttle; then the noisy client waits there
"""

import json
from pathlib import Path

from lab import PATIENCE, until

from engine.cli.main import main
from engine.quotas.entity import ClientQuotaEntity
from recorded.stand import Stand

CONFIG = {"quota.window.num": "3"}  # who was too fast waits for seconds, and not for ten
QUOTA = {"producer_byte_rate": 50_000}  # bytes a second
THROTTLE = "250000"  # likewise, of the move


def play(path: Path) -> None:
    with Stand(path, brokers=4, zookeepers=3, config=CONFIG, frames=False, znodes=True) as stand:
        cluster = stand.cluster
        cluster.count_requests()
        dies, stays, spare = stand.others()
        ring = [dies, stays, stand.states().controller]
        stand.topic("orders", [ring, ring[1:] + ring[:1], ring[2:] + ring[:2]])
        stand.topic("clicks", [[stays]], segment_bytes="100000000")
        stand.write(9, partitions=3)
        stand.read("billing")
        stand.write(200, "clicks", client="noisy", size=1000)
        stand.beat(3)
        for client in ("noisy", "shop"):
            entity = ClientQuotaEntity(client=client)
            cluster.admin.alter_client_quotas({entity: QUOTA})[entity].result(PATIENCE)
        until("somebody to wait", lambda: _throttled(stand, stays))
        stand.beat(4)
        cluster.kill(dies)
        until("its session to be over", lambda: len(stand.state().isr) == 2)
        stand.beat(2)
        cluster.restart(dies)
        parts = range(3)
        until("all in sync", lambda: all(len(stand.state(partition=it).isr) == 3 for it in parts))
        stand.beat(2)
        leader = _leader(stand)
        cluster.kill(leader)
        until("another leader", lambda: _leader(stand) not in ("", leader))
        stand.beat(2)
        cluster.restart(leader)
        stand.beat(2)
        _move(stand, spare)
        until("the noisy one to wait again", lambda: _throttled(stand, spare))
        stand.beat(3)
        stand.end()


def _move(stand: Stand, broker: int) -> None:
    """With Kafka's own command, which removes the throttle when it finds that all is done."""
    rows = [{"topic": "clicks", "partition": 0, "replicas": [broker]}]
    moves = stand.cluster.data / "moves.json"
    moves.write_text(json.dumps({"version": 1, "partitions": rows}))
    which = ["--bootstrap-server", stand.cluster.bootstrap, "--reassignment-json-file", str(moves)]
    main(["reassign-partitions", *which, "--execute", "--throttle", THROTTLE])
    until("the move", lambda: stand.state("clicks").assignment == (broker,))
    main(["reassign-partitions", *which, "--verify"])


def _leader(stand: Stand) -> str:
    """Of ZooKeeper's servers; "": there is none."""
    servers = stand.states().zookeepers.items()
    return next((f"zookeeper-{number}" for number, it in servers if it.role == "leader"), "")


def _throttled(stand: Stand, broker: int) -> bool:
    return any(it["throttle_ms"] for it in stand.states().brokers[broker].quotas)
