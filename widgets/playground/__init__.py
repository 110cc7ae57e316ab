"""A simulated cluster that goes on while somebody looks at it, in a page of its own.

simulated_cluster.py    the simulator behind the methods of a Cluster that a picture uses
session.py              one picture of it, and the messages between it and a page

The page is lite/playground/: a browser runs this package in a worker. It is the engine's own code
that is killed there, and its invariants are checked while it runs.
"""
