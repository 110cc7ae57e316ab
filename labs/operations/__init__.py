"""What 09_operations.ipynb takes from beside it.

shared              the lab's cluster and its ledger; waiting; the requests of a client
listened            what a listener container did, in offsets
load                a producer that writes all the time, and what was acknowledged when
questions, listener_questions  predictions; read them after you have made yours
exercises, listener_exercises  how the exercises are judged
lag                 what the last section plants; read it after you have solved it

Two of them act: `load` sends records, `lag` plants what is to be found.
"""
