"""Spark's daemon, from which it forks its Python workers, with the Kafka client imported already.

    spark.python.daemon.module=sparkstreams.daemon

    daemon (imports once) ──fork──> worker   a task, or one commit of an epoch
                          ──fork──> worker   ...

Spark forks a new process for each commit of a stream, from a daemon that has imported none of our
modules: each process would spend a second on importing them. A module that is imported before the
fork costs nothing after it, not even memory.

Invariant: no module that starts a thread is imported here, because a fork loses threads. So the
worker itself imports pyarrow.
"""

from pyspark.daemon import manager

import engine.client.admin.operations
import engine.client.producer  # noqa: F401

if __name__ == "__main__":
    manager()
