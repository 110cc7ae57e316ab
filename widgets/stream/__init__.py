"""StreamView, in parts: from what Spark says of a streaming query to a picture of it.

query ──> feed ── plain dicts ──> history ──> plan ──> scene: pipeline, strips, lists, batches
          tail, table                └──────> chart    plotly
"""
