"""Bytes to values and back: the Kafka protocol, without a socket.

    bytes from a connection -> frame.FrameReader -> codec.decode_request -> header, request
    bytes to a connection   <-  codec.encode_response, fetch.encode      <- header, response

`apis` says which requests there are and in which versions. `schema` turns kio's declaration of
a message into what `reading` and `writing` need; `primitives` are what messages are made of.
`messages` declares what brokers say among themselves, which kio has no more.
The client's side of it, encode_request and decode_response, is in `codec` too.
"""
