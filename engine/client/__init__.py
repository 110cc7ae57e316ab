"""The other end of the wire: what a client has to know to talk to a cluster.

    connection    one socket to one broker: requests out, answers in, in the same order
    metadata      who is alive, who leads what: the answer to a Metadata request, as a value
    cluster       from a bootstrap address to the broker that can do it; retries when it moved
    admin         topics and configurations: the requests that change a cluster
    writer        batches to the leaders of their partitions, several on the way at once
    reader        batches from the leaders, from an offset on
    partitioner   which partition a key belongs to

All of it blocks and none of it has a thread: it is what command line tools need. It speaks to any
Kafka from 2.8 on, since it asks each broker which versions of a request it serves.
"""
