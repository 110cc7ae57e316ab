"""The deciding code of a producer. Sans-IO: no socket, thread, clock or random number.

produce() -> accumulator           a queue of batches for each partition
                 |
              sender               which batches go to which leader now; what a response means
                 |
              idempotence          producer id and sequence numbers: no record is stored twice
                 |
              transaction_manager  with a transactional.id: the coordinator gives the producer
                                   id, and records and offsets are committed together
                                   (transaction_requests: its requests and their errors)

arguments   checks what the application passes, and builds the message that it gets back
batch_log   what a picture of the buffer is drawn from
batch       records of one partition that are sent together
"""
