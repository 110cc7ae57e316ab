"""A Kafka-compatible broker engine, small enough to read in a weekend.

Read it bottom up: `errors` and `model`, then `wire` and `storage` (bytes on the network and on
the disk), then what decides (`replication`, `controller`, `coordinator`), then the shells that
carry the decisions out (`broker`, `client`, `cluster`, `cli`). Imports point down only.
"""

__version__ = "0.1.0"
