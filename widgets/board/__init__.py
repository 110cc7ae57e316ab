"""OperatorBoard: the figures that people on call look at, over time.

view ──> history ──> samples, a figure each: history.py
     └─> panels ───> which figures a panel shows, and in which words
            ├─> scene    as a picture, live, with a timeline
            └─> chart    as a plotly figure of the whole run
"""
