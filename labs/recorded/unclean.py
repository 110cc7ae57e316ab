"""The last replica in sync dies, and one that was not in sync leads: records are lost.

 0 s   a topic with two replicas, unclean.leader.election.enable=true; a producer
 5 s   the follower is killed            the ISR is the leader alone, which goes on
12 s   the leader is killed              nobody has what it wrote since
16 s   the follower comes back first     it leads, in a new epoch, from where it had stopped
22 s   the old leader comes back         it cuts off what the new one does not have
"""

from pathlib import Path

from lab import until

from recorded.stand import Stand


def play(path: Path) -> None:
    with Stand(path, znodes=True, files=["orders-0"]) as stand:
        leader, follower = stand.others()
        stand.beat(0.8)
        stand.topic("orders", [[leader, follower]], unclean_leader_election_enable="true")
        stand.write(2.5)
        stand.beat(5)
        stand.cluster.kill(follower)
        until("the leader to be alone", lambda: stand.state().isr == (leader,))
        stand.beat(4)
        stand.cluster.kill(leader)
        stand.beat(1.5)
        stand.cluster.restart(follower)
        until("the follower to lead", lambda: stand.state().leader == follower)
        stand.beat(4)
        stand.cluster.restart(leader)
        until("both to be in sync", lambda: len(stand.state().isr) == 2)
        stand.beat(4)
