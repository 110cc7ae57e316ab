"""How a partition's replicas agree: roles, the in-sync replicas, the high watermark.

    roles       the controller's orders           hosting    the logs, and their upkeep
    replicas    appends and reads                 reading    what a reader gets, and from whom
    partition   role, ISR, high watermark         throttle   how fast replicas may be moved
    fetcher     the conversation with a leader    following  truncate by epoch, then copy

Sans-IO: no socket and no clock. What has happened and what time it is come in as arguments, logs
through a narrow door (`logs`); what is to be done elsewhere comes out as values that the broker,
or the simulator, carries out.
"""
