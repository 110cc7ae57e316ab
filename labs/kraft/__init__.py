"""What 10_kraft.ipynb takes from beside it: nothing here acts on a cluster.

shared       the lab's clusters, and short ways to read what is in a metadata log
questions    the predictions; read it after you have made yours
migration    a recorded migration from ZooKeeper: what was changed where, and when
exercises    how the exercises are judged
"""
