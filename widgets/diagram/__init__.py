"""Pictures of the code, drawn from the code: state machines from their tables, layers from theirs.

    engine/**/*.py       machine  ── tables, found and read ──> layout ── ports, lanes ──> drawing
    pyproject.toml       layers   ── the layer check's own list ─────────────────────────> drawing
                                                                                              │
                         page: the same in words             docs/diagrams/*.svg, README.md <─┘

    python -m widgets.diagram docs/diagrams

Nobody draws an arrow by hand. A state that is added to a table is in the picture when the command
has run, and tests/docs/test_diagrams.py is red until it has.

Invariant: the same code gives the same bytes, on every machine.
"""
