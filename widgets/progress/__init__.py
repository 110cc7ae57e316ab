"""What a learner has done: written down in one file, and drawn.

a question, an exercise, a fault by the mouse ──> record ──> progress.json
the notebooks ──> plan ────────────────────────────┴──────> view: a mark for each task
"""
