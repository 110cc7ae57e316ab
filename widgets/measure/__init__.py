"""Pictures of measurements: ratios, latencies, pages in memory, and who copies the bytes.

ratios, latencies, moments ──> RatioBars, LatencyView, PageMap, PathOfAByte ──> machine(), below
"""
