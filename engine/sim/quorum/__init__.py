"""A quorum of controllers as the metadata of a simulated cluster.

    metadata          QuorumMetadata: the controllers, an administrator, and the truth
    controller_node   one controller: a machine with a disk, and the process that runs on it
    controller_peer   a connection to the listener of a controller
    observer          a broker's copy of the metadata log
    quorum_disk       the disk of one node: its metadata log, its snapshots, its quorum state

All of engine/quorum_server and engine/raft runs here unchanged, as engine/broker does.
"""
