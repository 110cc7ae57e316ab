"""Bytes to values and back: the Kafka protocol, without a socket.

    bytes from a connection -> frame.FrameReader -> codec.decode_request -> header, request
    bytes to a connection   <-  codec.encode_response                    <- header, response

`apis` lists the requests and their versions. `schema` reads kio's declarations of messages for
`readers` and `writers`; `primitives` has the types of fields. `messages` declares the requests
between brokers, which kio no longer has. `codec` also has the client's side, encode_request and
decode_response. `refusal` makes the response to a request of which nothing is served.
"""
