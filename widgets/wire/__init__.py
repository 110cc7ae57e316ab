"""WireView's parts: the requests and responses of a cluster, down to the bytes.

events "request" ──> Conversation ──> arrows ──> page: rows in time ──> scene
a message's bytes ──> anatomy: leaves, each with its name, value and bytes ──> panel
"""
