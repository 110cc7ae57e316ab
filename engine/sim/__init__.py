"""The simulator: the engine's deciding code under a virtual clock, network and ZooKeeper.

Nothing in here waits, and every random choice comes from a seeded `random.Random`, so the same seed
makes the same run.
"""
