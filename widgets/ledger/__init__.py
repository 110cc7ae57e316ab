"""What the articles claim, and what this engine made of it.

labs/claims.json ──> claims ──> ledger: cases ──> finding, or Contradiction
                        │         │ └──> basis: what it rests on, a line of its card
                        │         └──> table, at the end of a lab
                        └──> articles: docs/articles/, and their index docs/coverage.md
saved notebooks ──> coverage ──┘ └── cases: what a cell looks at, from its source
"""
