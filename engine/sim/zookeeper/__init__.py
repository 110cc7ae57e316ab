"""ZooKeeper in the simulator.

model       znodes, sessions and watches; the same requests as those to the real one
ensemble    its servers, which a storm may kill, and the connections to them
client      the broker's end of a session
"""

from engine.sim.zookeeper.model import Zookeeper

__all__ = ["Zookeeper"]
