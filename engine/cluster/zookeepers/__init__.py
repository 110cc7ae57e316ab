"""ZooKeeper's servers of a cluster, and what they say of the metadata.

ensemble           one server or several; `ensemble_monitor` asks what each of several is, and
                   `quorum_links` has the links between them
zookeeper_view     topics, leaders and brokers, as ZooKeeper has them
"""
