"""A controller without ZooKeeper: the Raft of engine/raft on sockets, clocks and disks.

    controller_server     from start to stop                       (ControllerServer)
    controller_handlers   what its listener serves                  (ControllerApis)
    features              what the committed records finalize

The Raft on sockets, clocks and disks is in engine/broker/kraft: a broker observes by it. The
package uses that, and the broker's server and connections, not the broker. It has no controller of
topics and brokers yet: as leader it appends what the Raft itself appends.
"""
