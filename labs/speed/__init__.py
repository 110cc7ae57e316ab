"""What 08_speed.ipynb takes from beside it: nothing here acts on a cluster.

shared       the lab's cluster and its ledger; rounds of measurements, and what /proc tells
questions    the predictions; read it after you have made yours
exercises    how the exercises are judged
slow_reader  what one of the exercises plants; read it after you have solved it
"""
