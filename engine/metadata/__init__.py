"""The metadata of a cluster, as a broker knows it, wherever it comes from.

delta      what has changed: brokers, partitions, configurations, quotas, access control lists
gateway    the changes that a broker asks for
lifecycle  the states of a broker in its cluster
"""
