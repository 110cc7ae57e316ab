"""StreamView, in parts: from Spark's reports on a streaming query to a picture.

query ──> feed ── plain dicts ──> history ──> plan ──> scene: pipeline, strips, lists, batches
          tail, table                └──────> chart    plotly
"""
