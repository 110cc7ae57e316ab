"""Quotas: how much a client may send, fetch and ask for. Decisions only, without a socket or clock.

    rate                   a rate over a row of windows, a bucket of tokens, the time to wait
    entity                 whom a quota is for, and which one counts when several match
    client_quota_manager   the quotas of one kind for all clients, and what each has used
    connection_quotas      how many connections an address may open in a second
    quota_managers         all quotas of a broker
    alteration             what AlterClientQuotas may write

A client over its quota is slowed, not refused: the response says for how long, and the broker reads
nothing from the connection until then. Only CreateTopics, CreatePartitions and DeleteTopics have
versions that are refused instead.
"""
