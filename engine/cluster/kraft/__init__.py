"""The controllers of a cluster without ZooKeeper: processes, and what they say of the metadata.

controller_quorum      all of them, or those in combined nodes
controller_process     one of them
quorum_metadata_view   topics, leaders and brokers, as the quorum has them
"""
