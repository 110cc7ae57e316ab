"""The peers that are measured: each can start itself, take records and return them.

- `engine`    the engine of this project
- `mock`      librdkafka's broker for tests: in C, in memory, inside confluent-kafka
- `apache`    Apache Kafka, where KAFKA_HOME points to one; 2.8 if `make real` was run
- `rabbitmq`  `redis`  `nats`    where their servers are installed
- `limits`    the limits of the machine itself: a socket, a file

`kafka` is the common part of the first three: one client, confluent-kafka. The others use `plain`:
bytes prepared beforehand on a plain socket, answers only counted. Their figures contain no client's
work, as ours do; so they look better than in any real program.
"""
