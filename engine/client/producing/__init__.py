"""What a producer decides, sans-IO: `batch`, `accumulator`, `numbering`, `sender`, `transactions`.

produce() -> accumulator: a queue of batches for each partition
                 |
              sender: which of them go to which leader now, and what an answer means
                 |
             numbering: which record is which, so that none is stored twice
           identifying: who we are, to all logs; or, with a transactional id,
                 |
          transactions: who we are to our coordinator, and what belongs together
                        (states: its table; requests: what it asks; verdicts: what it makes of it)
"""
