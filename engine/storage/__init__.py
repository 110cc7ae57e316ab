"""One partition's log on one disk: Kafka's central idea, and here its lowest layer.

A log is a file that only grows at its end. A record gets the next number, its offset, and
keeps it for good; so a reader needs to know one number only, where it is, and the broker
needs to know nothing about its readers. As one endless file could never be cleared away, the
log is cut into segments, and each is named after the first offset that it may hold:

    orders-0/                             topic "orders", partition 0
      00000000000000000000.log            record batches, one after the other
      00000000000000000000.index          offset    -> position in .log, a sample of batches
      00000000000000000000.timeindex      timestamp -> offset, a sample of batches
      00000000000000368769.log            the active segment: the only one that is written to
      00000000000000368769.index          preallocated, cut to its entries once it is full
      00000000000000368769.timeindex
      00000000000000368769.snapshot       what producers had sent before offset 368769
      00000000000000368769.txnindex       which transactions were aborted, if any
      leader-epoch-checkpoint             at which offset each leader took over
      partition.metadata                  the topic's id

    .log   | batch 368769..368770 | batch 368771 | batch 368772..368790 | ... -> appends

Read upwards. `batch` is the unit of everything: producers make it, the log keeps it, consumers
get it, and no broker unpacks it. `records` and `compression` are what producers and consumers
find inside. `files` is the one door to the disk; the rest of the folder goes through it.

Invariant: offsets in a log only rise. There may be gaps, as compaction leaves them, but no
offset is ever given twice.
Invariant: what the indexes say can be had from the .log files too. An index that is missing or
wrong costs time, never data.
Invariant: the bytes of a batch behind its leader epoch are those that the producer sent, on
every replica alike, unless the broker stamps them with its own time or compacts them.
"""
