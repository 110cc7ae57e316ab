"""A simulated cluster that goes on while somebody looks at it.

simulated_cluster.py    the simulator behind the methods of a Cluster that a picture uses
calm_run.py             the one of the playground: with producers, readers and invariants
session.py              one picture of it, and the messages between it and a page
cluster_in_tab.py       the one of lab 00 in a browser tab: with the methods that its cells call

The playground's page is lite/playground/: a browser runs this package in a worker. It is the
engine's own code that is killed there.
"""
