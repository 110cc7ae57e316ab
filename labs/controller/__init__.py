"""What 05_controller.ipynb takes from beside it: nothing here acts on a cluster.

shared       the lab's cluster and its ledger, and short ways to read what is there
questions    the predictions; read it after you have made yours
exercises    how the exercises are judged
"""
