"""What 04_streams runs: an experiment is a function over a cluster, and returns small values.

A tea house, in one sentence: guests top up a card and pay their tea with it, and every top-up and
every cup is a record.

    stand      the lab's cluster, and how to wait for what is to happen
    house      guests, teas, cards: what is written to the topics
    loop       a stream processor by hand, a process of its own
    crew       starts and kills it
    unbounded  a stream has no end               stateless  one record at a time
    duality    a stream is a table is a stream   database   changes of a database
    remote     state here, state far away        server     that far-away database
    replay     state lost and found              middle     services and a topic
    times      ratios as a chart

What needs Spark begins where `session` starts it, once for the notebook:

    pipes      pieces of pipelines               flow       results that go on
    tap        a query to be looked at           counting   a table, its state, its changes
    joins      streams meet, streams and tables  late       windows, and what misses them
    sql        the same in SQL                   faults     a broker dies

    questions  to be answered before a cell is run          exercises  and after

Invariant: an experiment waits for what it is about, and says what it has waited for in vain.
"""
