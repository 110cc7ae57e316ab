"""A whole cluster on one machine: Java, ZooKeeper, and the processes that make it up.

- `java`            finds the Java that runs ZooKeeper
- `child`           a process that can be killed, paused and resumed, and never outlives its parent
- `scratch`         a temporary directory that is removed when its last process has ended
- `ports`           free ports, and the process that occupies one
- `resources`       is there enough memory, disk and room for processes?
- `zookeeper`       a real ZooKeeper server, from the jars that PySpark contains
- `zookeepers/`     an ensemble of them
- `kraft/`          controllers, in a cluster without ZooKeeper
- `metadata_servers`   what a cluster needs of ZooKeeper, or of controllers
- `node_process`    a broker or a controller: its port, its directory, its process while it runs;
                    `broker_process` has the command that starts a broker
- `node_launcher`   starts them, on Linux as copies of a process that has loaded the engine
- `cluster`         all of them: start, stop, kill, pause, cut; `clients` their clients, `defaults`
                    the settings of small ones
- `scripts/`        its directory as an unpacked Kafka has it: bin/, config/, and what these start
- `faults`          which links are cut or slow; `request_faults` which answers to clients are
                    errors, lost or late
- `debug_client`    asks a broker for its state and events (engine/broker/debug/debug_server.py)
- `observer`        asks all brokers; `state_merger` and `event_stream` merge their answers
- `state`           the snapshot that comes out; `recording` a series of snapshots in a file,
                    `recorded_files` the log files of a recording
- `znode_watcher`   follows all znodes of a ZooKeeper; `znode_changes` the tree and its changes

Everything listens on 127.0.0.1 only.
"""
