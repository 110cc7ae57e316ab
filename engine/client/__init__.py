"""The other end of the wire: what a client has to know to talk to a cluster.

    producer  consumer  admin/      Producer, Consumer, AdminClient: confluent-kafka's methods
        |         |                 (standalone: a consumer without a group; listening: ack modes)
        |         |                 (transacting: a producer's transactions)
    producing/ consuming/           what they decide: batches, transactions, positions, membership
        |         |                 (handing, destinations: between these and the façades)
        finding                     who coordinates a group, or a transactional id
     network ── link ── view        one background thread: sockets, time-outs, metadata
        asking                      the words between those who decide and the network
    values  listing                 what goes in and comes out, of confluent-kafka's shape
    assignors/  partitioner         who of a group reads what; which partition a key belongs to

The command line's tools need less: they wait for each answer, and have no thread.

    connection    one socket to one broker: requests out, answers in, in the same order
    metadata      who is alive, who leads what: the answer to a Metadata request, as a value
    cluster       from a bootstrap address to the broker that can do it; retries when it moved
    changes       topics and configurations: the requests that change a cluster
    groups        the same for groups and their offsets
    writer        batches to the leaders of their partitions, several on the way at once
    reader        batches from the leaders, from an offset on

All of it speaks to any Kafka from 2.8 on, since each broker is asked which versions it serves.
"""
