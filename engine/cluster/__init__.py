"""A whole cluster on one machine: Java, ZooKeeper, and the processes that make it up.

- `java`       which Java runs the one JVM we need
- `child`      a process that can be killed, paused and resumed, and never outlives its parent
- `zookeeper`  the real ZooKeeper, from the jars that PySpark brings along

Everything listens on 127.0.0.1 only.
"""
