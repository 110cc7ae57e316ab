"""Storms over a quorum in the simulator: three or five voters and an observer, from a seed.

world       nodes of engine/raft on a virtual clock, each with its own speed
network     messages alone: lost, doubled, late, or on a way that is cut
disk        a node's log, snapshots and quorum state; a power cut loses what was not flushed
storm       the faults, by a seed
invariants  what must always hold, each with a name
defects     nodes with a known defect, to test the invariants
run         all of it together:  QuorumRun(seed=7).go()

python -m engine simulate --quorum --seeds 300
"""
