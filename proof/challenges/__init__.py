"""Challenges: a learner writes a rule of Kafka's, the engine runs on it, storms try to break it.

    guard        calls a learner's rule: arguments cannot change, an error is a sentence
    challenge    a challenge, its stages, and its judgement; shrinks the first failure
    replication, groups, transactions    the challenges, and how a rule takes its engine's place
    source       a rule from a learner's file

    $ python -m engine challenge --list
    $ python -m engine challenge high-watermark my_rule.py

A rule is a class with one to three methods. It replaces the engine's own at the same seam by which
the planted defects of the storms do (engine.broker.rules).
"""
