"""The machinery of 02_replication: one module per section, so that its cells stay short.

    world, table              the cluster in simulated time, and how rows are shown
    real, asking              the real cluster of three, and single requests spoken to it by hand
    roles, marks, acks, ...   the experiments: plain functions that return what they saw
    questions, exercises      what the learner is asked; read them after you have answered

An experiment decides nothing: it returns values, and the notebook puts them to the ledger.
"""
