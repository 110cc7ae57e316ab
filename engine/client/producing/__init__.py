"""What a producer decides, sans-IO: `batch`, `accumulator`, `numbering`, `sender`.

produce() -> accumulator: a queue of batches for each partition
                 |
              sender: which of them go to which leader now, and what an answer means
                 |
             numbering: who we are and which record is which, so that none is stored twice
"""
