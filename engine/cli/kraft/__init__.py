"""Commands of a cluster without ZooKeeper: its controllers, and the quorum that they form."""
