"""The other world: the same deciding code under a virtual clock, network and ZooKeeper.

Nothing in here waits, and nothing is left to chance but what a seeded `random.Random` says; so
the same seed tells the same story, and a copy of a world lives on by itself.
"""
