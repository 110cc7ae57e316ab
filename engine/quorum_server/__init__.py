"""A controller's process: the Raft of engine/raft on sockets, clocks and disks.
"""
