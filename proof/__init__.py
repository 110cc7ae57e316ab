"""What proves the engine: faults, and checks of what brokers have promised.

    storms    on a simulated cluster: a run, its faults and its invariants, all from a seed
    chaos     on a real cluster, with stock clients

The engine does not know of it. `python -m engine simulate` and `python -m engine chaos` call it.
"""
