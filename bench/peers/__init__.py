"""Those that are measured: each knows how to start itself, take records and give them back.

- `engine`    the one that this project is about
- `mock`      librdkafka's broker for tests: in C, in memory, inside confluent-kafka
- `apache`    Apache Kafka, where KAFKA_HOME points to one
- `rabbitmq`  `redis`  `nats`    where their servers are installed
- `limits`    what the machine itself gives: a socket, a file

`kafka` is what the first three have in common: one client, confluent-kafka. The others are talked
to by `plain`: bytes prepared beforehand on a plain socket, answers only counted. No client's
work is in their figures, as it is in ours; so they look better than in any real program.
"""
