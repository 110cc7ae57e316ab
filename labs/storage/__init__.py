"""The machinery of 01_storage: one module per section, so that its cells stay short.

    disk, real                a log on a directory of its own; the cluster that all sections share
    topics, batches, ...      the experiments: plain functions that return what they saw
    questions, exercises      what the learner is asked; read them after you have answered

An experiment decides nothing: it returns values, and the notebook puts them to the ledger.
"""
