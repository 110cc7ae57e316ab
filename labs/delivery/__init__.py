"""What labs 06_sending and 07_promises take from beside them: nothing here acts on a cluster.

shared                the cluster of both labs, and short ways to read what is there
sending               the ledger and predictions of 06_sending; read it after you have made yours
promises              those of 07_promises
sending_exercises     how the exercises of 06_sending are judged
promises_exercises    how those of 07_promises are judged
"""
