"""Kafka's ideas: one sentence each, where a lab shows it, and what it leads to.

ideas.json ── idea ──┬── drawing: the map, a picture in the lab and docs/map.svg
labs/*.ipynb ─── places ──┼── pages: docs/map.md and docs/glossary.md
                          └── terms: what a link in a lab says when one points to it

python -m widgets.ideas docs
"""
