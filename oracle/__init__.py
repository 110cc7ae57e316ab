"""What will happen? Situations that a simulator makes, a fault, and answers; the run decides.

    situation        what a kind of question consists of; cluster_situation: on a simulated cluster
    kinds            the kinds: storage, replication, controller, delivery, groups, transactions,
                     quorum
    exam             questions drawn by a seed

    $ python -m engine oracle --seed 7 --questions 20

No answer stands in a table: a question is made by running the engine's own code, and it is asked
only if the answer is the same with other delays of the same messages.
"""
