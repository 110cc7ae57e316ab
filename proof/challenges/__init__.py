"""Challenges: a learner writes a rule of Kafka's, the engine runs on it, storms try to break it.

    guard          calls a learner's rule: arguments cannot change, an error is a sentence
    challenge      a challenge, and its judgement; shrinks the first failure
    trial          the stages of a rule that one part decides alone, by cases that are drawn
    storm_trial    the stages of a rule in every broker of a simulated cluster, by storms of faults
    drawn_cases    what storms miss: single decisions, as the last stage of six challenges
    child          judges in a process of its own
    source         a rule from a learner's file
    in_broker      a rule in a real broker
    table          all challenges

The others have the challenges, and how a rule takes the engine's place: index_lookup, log_recovery,
log_compaction, isr_shrink, leader_election, offset_commit and assignment one each; replication and
delivery four each.

    $ python -m engine challenge --list
    $ python -m engine challenge high-watermark my_rule.py

A rule is a class with one to three methods. It replaces the engine's own at the same seam by which
the planted defects of the storms do (engine.broker.rules).
"""
