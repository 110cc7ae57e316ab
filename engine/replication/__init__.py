"""How a partition's replicas agree: roles, the in-sync replicas, the high watermark.

    replica_manager   roles, appends, reads       log_manager          the logs of this broker
    partition         role, ISR, high watermark   log_read             the records a reader gets
    fetcher           requests to one leader      follower_partition   truncate by epoch, then copy
    throttle          a limit for the rate        logs                 the interface of a log

No socket and no clock (sans-IO): events and the time are arguments. Changes for ZooKeeper and
requests to other brokers are returned as values; the broker sends them.
"""
