"""What 07_operations.ipynb takes from beside it.

shared              the lab's cluster and its ledger; waiting; the requests of a client
books               lines of an article, typed into a shell
listened            what a listener container did, in offsets
releases            when releases came, and which versions a broker speaks
listener_questions  predictions; read them after you have made yours
listener_exercises  how the exercises about listeners and lag are judged
lag                 what section 9 plants; read it after you have solved it

Only `books` and `lag` act: the one types what a cell says, the other plants what is to be found.
"""
