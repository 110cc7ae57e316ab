"""What 03_rebalance needs besides the engine. The experiments stand in the notebook's cells.

    stand        the lab's cluster, names, topics that grow
    team         consumers of one group, each a thread of this kernel or a process of its own
    processes    a consumer that runs a program in a process, so that it can be killed and frozen
    traced       the requests that brokers served; single requests to a chosen broker
    stored       records of __consumer_offsets in the leader's files; what ZooKeeper has
    strategies   an assignor's plan for members whose past is known
    simulated    a group in simulated time
    pictures     a chart, and the stream of records that it shows
    questions    to be answered before a cell is run         exercises    and after

Invariant: a wait ends when what it waits for has happened, or in an error that says what did not.
"""
