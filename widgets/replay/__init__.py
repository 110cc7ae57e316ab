"""Runs that are over, replayed without a cluster.

simulated_run.py    a run of the simulator
messages.py         its messages, drawn on their way
recorded_files.py   the log files of a recording, as they were
"""
