"""One partition's log on one disk: the central idea of Kafka, and the lowest layer here.

A log is append-only. Each record gets the next number, its offset, and keeps it. So a reader needs
only one number, its position, and the broker needs no state for its readers. To delete old records,
the log is split into segments. A segment is named after the first offset that it may hold:

    orders-0/                             topic "orders", partition 0
      00000000000000000000.log            record batches, one after the other
      00000000000000000000.index          offset    -> position in .log, a sample of batches
      00000000000000000000.timeindex      timestamp -> offset, a sample of batches
      00000000000000368769.log            the active segment: the only one that is written to
      00000000000000368769.index          preallocated, trimmed when the segment is closed
      00000000000000368769.timeindex
      00000000000000368769.snapshot       the state of producers at offset 368769
      00000000000000368769.txnindex       the aborted transactions, if any
      leader-epoch-checkpoint             the first offset of each leader epoch
      partition.metadata                  the topic's id

    .log   | batch 368769..368770 | batch 368771 | batch 368772..368790 | ... -> appends

The unit is the batch (`batch`): producers build it, the log stores it, consumers read it, and no
broker unpacks it. `records` and `compression` are its content. `files` has all changes of the file
system; the other modules use it.

Invariant: offsets in a log only grow. Compaction may leave gaps, but no offset is used twice.
Invariant: the indexes can be rebuilt from the .log files. An index that is missing or wrong costs
time, never data.
Invariant: the bytes of a batch after its leader epoch are those that the producer sent, the same on
every replica, unless the broker writes its own time into them or compacts them.
"""
