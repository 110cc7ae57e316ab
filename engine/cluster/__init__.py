"""A whole cluster on one machine: Java, ZooKeeper, and the processes that make it up.

- `java`       which Java runs the one JVM we need
- `child`      a process that can be killed, paused and resumed, and never outlives its parent
- `scratch`    a temporary directory that goes with the last who works in it
- `zookeeper`  the real ZooKeeper, from the jars that PySpark brings along
- `znodes`     what stands in it and changes, as it tells itself; `mirror` what is known of that
- `node`       one broker: its place, and its process when it has one
- `cluster`    all of them, and what a lab does to them
- `faults`     what is cut and slowed, remembered
- `door`, `view`, `stream`, `observer`   what the brokers tell, made into one picture
- `state`      that picture; `recording` a run of them in a file

Everything listens on 127.0.0.1 only.
"""
