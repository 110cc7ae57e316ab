"""ZooKeeper, as a broker uses it: a thin layer over kazoo.

    client    sessions, questions and watches on the broker's one loop
    packets   questions of the controller and others as kazoo sends them (controller/asks.py)
    handler   the thread that talks to the server, and a lab's faults on the way to it

What the paths mean and what is written there stands in controller/znodes.py.
"""
