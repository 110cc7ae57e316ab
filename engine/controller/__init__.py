"""The controller: the one broker that decides who leads which partition.

It decides from events and returns writes and requests (sans-IO); the broker carries them out.
"""
