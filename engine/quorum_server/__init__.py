"""A controller without ZooKeeper: the Raft of engine/raft on sockets, clocks and disks.

    controller_server     from start to stop                       (ControllerServer)
    controller_handlers   what its listener serves                  (ControllerApis)
    controller_service    the QuorumController of the leader: requests, time, responses
    batch_accumulator     what it decides in one turn of the event loop is one batch
    combined_node         a broker and a controller in one process

The Raft on sockets, clocks and disks is in engine/broker/kraft, because a broker needs it, too: as
an observer. This package uses that, and the broker's server and connections, but not the broker.
What a controller decides is in engine/quorum_controller.
"""
