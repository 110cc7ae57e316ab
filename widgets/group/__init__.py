"""GroupView, in parts: from the events of a consumer group to lanes and threads.

events, states ──> history ──┬──> plan ──> scene, threads    the moving picture
                   lag ──────┤
                             └──> chart                      plotly, two runs on one clock
view ── acts ──> crew ──> member: a process for each consumer that is added
"""
