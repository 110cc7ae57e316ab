"""How a partition's replicas agree: roles, the in-sync replicas, the high watermark.

Sans-IO: no socket, no clock, no log file. What has happened and what time it is come in as
arguments; what is to be done comes out as values that the broker carries out.
"""
