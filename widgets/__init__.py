"""What a cluster looks like: engine state, to a plain snapshot, to a picture.

Every picture is drawn from what brokers publish (their state and their events), never from a
guess about it: what cannot be seen is not done.
"""
