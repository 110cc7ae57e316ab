"""What stands beside 04_streams: waiting, drawing, processes, questions and exercises.

A tea house, in one sentence: guests top up a card and pay their tea with it, and every top-up and
every cup is a record.

    stand      the lab's cluster, and how to wait for what is to happen
    sample     guests, teas, cards: what is written to the topics
    loop       a stream processor by hand, a process of its own
    processes  starts and kills it
    database   a price list in SQLite
    remote     state here, state far away        server     that far-away database

What needs Spark begins where `session` starts it, once for the notebook:

    pipes      options, checkpoints, and what a query tells of itself
    tap        guests who order all the time

    questions  to be answered before a cell is run          exercises  and after

Invariant: what waits says what it has waited for in vain.
"""
