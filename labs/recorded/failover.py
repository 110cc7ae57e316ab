"""The leader is killed, another one leads, and the killed one comes back.

 0 s   a topic with three replicas; a producer with acks=all, a consumer
 6 s   the leader is killed                       nobody can write
10 s   its session with ZooKeeper runs out        the controller elects a follower
16 s   the killed one is started again            it fetches what it missed
       all three are in sync                      the new leader goes on leading
"""

from pathlib import Path

from lab import until

from recorded.stand import Stand


def play(path: Path) -> None:
    with Stand(path, znodes=True, files=["orders-0"]) as stand:
        first, second = stand.others()  # the controller is not to die as well
        controller = stand.states().controller
        stand.beat(0.8)
        stand.topic("orders", [[first, second, controller]])
        stand.read("billing")
        stand.write(3)
        stand.beat(4)
        stand.cluster.kill(first)
        until("another leader", lambda: stand.state().leader not in (first, -1))
        stand.beat(4.5)
        stand.cluster.restart(first)
        until("all to be in sync", lambda: len(stand.state().isr) == 3)
        stand.beat(4)
