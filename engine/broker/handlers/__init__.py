"""What a broker answers: one family of APIs a file, headed by the versions that it serves.

A handler takes the broker, the call and the request in the shape of the newest version, and
returns the response in that shape, or None for no answer at all.
"""
