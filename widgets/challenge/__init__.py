"""Kafka's rules to be written: a board of all challenges, a chapter for each, and the judgement.

board      all challenges: how far the learner's rule has come in each
chapter    one challenge: what the rule gets and returns, hints; it starts the judgement
run        the judgement while it goes on, and the first failure, to be stepped through
"""
