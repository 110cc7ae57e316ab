"""WireView's parts: what parties of a cluster say to each other, down to the bytes.

events "request" ──> Conversation ──> arrows ──> page: rows in time ──> scene
a message's bytes ──> anatomy: leaves, each with its name, value and bytes ──> panel
"""
