"""AccumulatorView, in parts: the batches of one producer, live and as a run that is kept.

producer.buffer_state() ──> history ──> a moment ──> scene ──> view
                            which batches were where, at any time
"""
