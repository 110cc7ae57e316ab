"""What 01_storage needs beside its cells; what is done to a log or a cluster stands in the cells.

disk, real              a log in a directory of its own; the cluster that all sections share
group                   reads as a member of a consumer group
count, memory, dump     what was written, what is in the page cache, what Kafka's tool prints
draw                    pictures, and sentences
questions, exercises    what the learner is asked; read them after you have answered
"""
