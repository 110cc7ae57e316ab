"""What 09_operations.ipynb takes from beside it.

shared              the lab's cluster and its ledger; waiting; the requests of a client
books               lines of an article, typed into a shell
listened            what a listener container did, in offsets
load                a producer that writes all the time, and what was acknowledged when
releases            when releases came, and which versions a broker speaks
questions, listener_questions  predictions; read them after you have made yours
exercises, listener_exercises  how the exercises are judged
lag                 what section 9 plants; read it after you have solved it

Three of them act: `books` types what a cell says, `load` sends records, `lag` plants what is to be
found.
"""
