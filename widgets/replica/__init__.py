"""ReplicaView, in parts: from states and events of one partition to offsets over time.

events, states ──> past ──> plan ──┬──> scene ── trails, strips    the moving picture
                                   └──> chart                      plotly, the whole run
view: a Playback, whose head is the moment that is seen
"""
