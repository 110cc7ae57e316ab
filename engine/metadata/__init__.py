"""The metadata of a cluster, as a broker knows it, wherever it comes from.

delta      what has changed: brokers, partitions, configurations, quotas, access control lists
gateway    the changes that a broker asks for
lifecycle  the states of a broker in its cluster

image          the metadata at one offset of their log, without ZooKeeper
image_delta    what has changed in an image, for one broker: a delta
image_tree     an image as names and texts, for people
broker_states  the states of a broker without ZooKeeper
records        the records of that log
"""
