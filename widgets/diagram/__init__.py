"""Pictures of the code, drawn from the code: state machines from their tables, layers from theirs.

    engine/**/*.py       machine  ── tables, found and read ──> layout ── ports, lanes ──> drawing
    pyproject.toml       layers   ── the layer check's own list ─────────────────────────> drawing
                                                                                              │
                         page: the same in words             docs/diagrams/*.svg, README.md <─┘

    python -m widgets.diagram docs/diagrams

No arrow is drawn by hand. A state that is added to a table is in the picture after this command;
until then tests/docs/test_diagrams.py fails.

Invariant: the same code gives the same bytes, on every machine.
"""
