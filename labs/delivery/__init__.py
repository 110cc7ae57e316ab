"""What 05_delivery.ipynb takes from beside it: nothing here acts on a cluster.

shared                  the lab's cluster and its ledger, and short ways to read what is there
sending                 the predictions of sections 1 to 5; read it after you have made yours
guarantees              the predictions of sections 6 to 10
sending_exercises       how the exercises of sections 1 to 5 are judged
guarantees_exercises    how those of sections 6 to 9 are judged
"""
