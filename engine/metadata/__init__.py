"""The metadata of a cluster, as the broker knows it, wherever it comes from.

delta      what has changed: brokers, partitions, configurations, quotas, access control lists
"""
