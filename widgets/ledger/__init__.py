"""What the articles claim, and what this engine made of it.

labs/claims.json ──> claims ──> ledger: cases ──> finding, or Contradiction
                                  └──> table, at the end of a lab
saved notebooks ───────────────────> coverage: docs/coverage.md
"""
