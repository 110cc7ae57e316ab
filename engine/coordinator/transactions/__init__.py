"""The transaction coordinator: who may write under a transactional id, and how it all ends.

    coordinator   all of it, as a broker uses it: requests in, answers, records and markers out
    initializing, adding, ending       one function for each API
    expiring      what time does       transaction   one transactional id
    registry      which are ours, and how we come by them
    image         all that is known of a transaction, and what it leads to next
    states        a table              records       the bytes in __transaction_state
    answers       what is answered, in each version

It is the sibling of the group coordinator, and like that decides from events, and returns answers
and records (sans-IO). A record counts when it is replicated, and a successor that replays the
records goes on from there: it ends what was to be ended.
"""
