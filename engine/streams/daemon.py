"""Spark's daemon, from which it forks its Python workers, with the Kafka client imported already.

    spark.python.daemon.module=engine.streams.daemon

    daemon (imports once) ──fork──> worker   a task, or one commit of an epoch
                          ──fork──> worker   ...

Spark takes a new process for each commit of a stream, and forks it from a daemon that knows none
of our modules: each would spend a second on importing them. What is imported before the fork costs
nothing after it, not even memory.

Invariant: nothing is imported here that starts a thread, which a fork would lose. So pyarrow stays
out: its importing is up to the worker.
"""

from pyspark.daemon import manager

import engine.client.admin.work
import engine.client.producer
import engine.client.reader  # noqa: F401

if __name__ == "__main__":
    manager()
