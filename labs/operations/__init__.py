"""What 07_operations.ipynb takes from beside it: nothing here acts on a cluster.

shared       the lab's cluster and its ledger; waiting
questions    the predictions; read them after you have made yours
exercises    how the exercises are judged
"""
