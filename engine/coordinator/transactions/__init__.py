"""The transaction coordinator: which producer may write under a transactional id, and how its
transactions end.

    coordinator     requests, timeouts, responses     transaction    one transactional id
    state_manager   all transactional ids             metadata       its state and the rest
    records         the bytes in __transaction_state

The next coordinator replays the records, and ends the transactions that were decided.
"""
