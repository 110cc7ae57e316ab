"""KRaft: how a few controllers agree on one log, Kafka's Raft. Sans-IO.

The metadata of a cluster is a log with one partition, `__cluster_metadata-0`. Three or five voters
keep a copy of it. One of them leads: it alone appends. A record is committed when a majority has it
on the disk. Brokers are observers: they copy the log, but neither vote nor count.

Time is divided into epochs. An epoch has at most one leader, because a voter votes once in an epoch
and a leader needs the votes of a majority, and two majorities have a voter in common. A voter votes
only for a candidate whose log is not behind its own: its last record has a later epoch, or the same
epoch and no smaller offset. So a leader has every committed record.

    An election. Voter 1 led epoch 4, and dies.

      voter 1   LEADER of 4 ──x
      voter 2   FOLLOWER ── no answer for a fetch timeout ──> CANDIDATE of 5 ──> LEADER of 5
                                                                 Vote  │  ^ granted   │ BeginQuorum
                                                                       v  │           v
      voter 3   FOLLOWER ──────────────────────────────────────────> votes for 2 ──> FOLLOWER
      The quorum state (epoch, vote, leader) is on the disk before any message tells of it. A leader
      that starts again is RESIGNED in its epoch: it neither leads nor votes in it.

Raft's leader pushes; Kafka's followers pull. A follower fetches from its log end, and says which
epoch its last record has. The leader answers with records, if its own log has that record there.
This fetch is the acknowledgement, too: everything before the offset is on the follower's disk.

    A divergence. Voter 1 led epoch 4 and wrote c and d, which nobody copied. Then 2 led epoch 5.

      offset       0    1    2    3    4
      leader 2     a4   b4   e5   f5
      voter 1      a4   b4   c4   d4         Fetch: offset 4, last epoch 4
                              ^              "epoch 4 ended at offset 2": truncate there, and fetch
      Only records that were never committed are truncated: a committed one is in every later
      leader's log, at the same offset.

    The mark. A leader commits (high watermark) what a majority has, but only beyond the start of
    its own epoch. A record of an older epoch may be on a majority and still be truncated, as long
    as no record of the leader's epoch follows it (figure 8 of the Raft paper). So a new leader
    appends a LeaderChange record at once; when a majority has it, all before it is committed.

    A snapshot replaces the start of the log. A follower that asks for records from before the log's
    start is told the id of a snapshot (end offset, epoch), and fetches that in chunks.

A leader that hears from no majority for 1.5 fetch timeouts resigns (check quorum): cut off from the
others, it can commit nothing, and clients should look for another one.

    states        the states of a node, and the one table of transitions
    raft_client   a node: requests and responses       (KafkaRaftClient)
    quorum_state  its state, epoch, vote and leader, and each step between states
    unattached, prospective, candidate, leader, follower, resigned  one state each
    requests      at most one request to each node, timeouts, backoff
    messages      Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot, as values
    model         offsets with epochs, the quorum's members, what is to be remembered
    log           what a log and a quorum state file must be able to do
    metadata_log  a log of storage/, with snapshots beside it
    rules         the classes that decide; others may be put in their place

Messages, the time, random numbers and the disk are arguments; messages come back as values.

Invariant: an epoch has at most one leader; epochs and high watermarks only grow.
Invariant: what is committed is in the log of every later leader.
Invariant: the quorum state is durable before a message depends on it.

Left out: changes of the voters while they run (KIP-853, kraft.version 1). Records are collected in
batches before `append` is called (quorum_server/batch_accumulator.py).
"""
