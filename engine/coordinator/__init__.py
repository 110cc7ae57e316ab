"""The coordinators: of consumer groups, and of transactions.

That of groups knows who is in a group, who reads what, and how far everyone is:

    coordinator   all of it, as a broker uses it: requests in, answers and records out
    membership, committing, listing    one function for each API
    groups        which groups are ours, and how we come by them     effects   what is to be done
    group         one group, as its members talk to it               answers   what is answered
    rebalance     from one generation to the next                    timers    deadlines
    roster        who is in, and what they can agree on              member    one of them
    offsets       the committed offsets of a group                   states    a table
    records       the bytes in __consumer_offsets                    fields   how they are written

Its sibling, in transactions/, knows who may write under a transactional id, and how it ended.

Both decide from events, and return answers and records (sans-IO). A record counts when it is
replicated, and a successor that replays the records goes on from there.
"""
