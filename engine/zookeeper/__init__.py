"""ZooKeeper, as a broker uses it: a thin layer over kazoo.

    requests  requests to ZooKeeper, and its answers, as values
    znodes    every path of Kafka's, and the JSON in it; json_fields reads it
    decoder   znodes that cannot be read
    client    sessions, requests and watches on the event loop of the broker
    packets   our requests as kazoo's packets, and kazoo's replies as our answers
    handler   the thread of the connection, and the faults that a lab adds

`requests`, `znodes` and `decoder` know nothing of kazoo: the controller and the coordinators use
them without a connection.
"""
