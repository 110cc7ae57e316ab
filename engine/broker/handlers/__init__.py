"""The handlers of requests: one family of APIs a file, headed by the versions that it serves.

A handler takes the broker, the call and the request in the shape of the newest version. It returns
the response in that shape, or None if no response is sent.
"""
