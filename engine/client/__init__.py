"""The clients of a cluster: producer, consumer, admin.

              listener/                  ListenerContainer: calls a function, commits as it is told
                  |
    producer  consumer  admin/client     Producer, Consumer, AdminClient: confluent-kafka's methods
        |         |           |
    producing/ consuming/     |          what they decide: batches, transactions, positions
        |         |           |          (delivery, destinations: between these and the above)
        |   consumer_coordinator         the application's side of a group: callbacks, commits
        |         |           |
        |         |        cluster       blocking requests to leaders, controller, coordinators
        |         |           |          (admin/requests, admin/group_requests: what is asked)
     network ── connection ── metadata   sockets, time-outs, retries; live brokers and leaders
        core   coordinator_lookup        the interface of deciding code and network; coordinators
    values   partitioner                 messages and errors; the partition of a key

`network` runs in a background thread of a producer or consumer, and without one for `cluster`,
which sends one request after the other. raw_connection sends single requests to a chosen broker,
without retries.

All of it works with any Kafka from 2.8 on: it asks each broker which versions it serves.
"""
