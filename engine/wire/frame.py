"""Framing: where one message ends and the next begins.

    +------+----------------------+------+----------------------+--
    | size | message (size bytes) | size | message (size bytes) | ...
    +------+----------------------+------+----------------------+--
     4 bytes, big endian, signed

TCP delivers bytes, not messages: a chunk may hold a hundred small requests, or a part of a big
one. `FrameReader` takes chunks as they arrive and returns whole messages.

Invariant: a message takes memory only for bytes that have arrived, never for bytes that its size
announces. A size that is refused takes none.
"""

from collections.abc import Iterator
from struct import Struct

from engine.wire.errors import BadFrameSize

Frame = bytes | bytearray

SIZE = Struct(">i")
MAX_REQUEST_BYTES = 100 * 1024 * 1024  # Kafka's default for socket.request.max.bytes


class FrameReader:
    """Bytes in, messages out. Each connection has one.

    `feed` keeps no reference to the chunk, so all connections of an event loop can receive into
    one buffer (`asyncio.BufferedProtocol`), and an idle connection takes almost no memory.
    """

    def __init__(self, max_bytes: int = MAX_REQUEST_BYTES) -> None:
        self.max_bytes = max_bytes
        self._partial = bytearray()  # a message of which not all has arrived, from its size on
        self._goal = SIZE.size  # how long it has to get: until its size, then until its end

    def feed(self, chunk: bytes | memoryview) -> Iterator[Frame]:
        """Yield each message that the chunk completes. Consume them all before the next chunk.

        Raises `BadFrameSize` after the messages that came before the bad size.
        """
        with memoryview(chunk) as view:
            position, end = 0, len(view)
            while self._partial and position < end:
                position = self._extend(view, position)
                if len(self._partial) == self._goal:
                    yield self._take()
            while position + SIZE.size <= end:
                start = position + SIZE.size
                following = start + self._accept(SIZE.unpack_from(view, position)[0])
                if following > end:
                    self._goal = following - position
                    break
                yield bytes(view[start:following])
                position = following
            self._partial += view[position:]

    @property
    def partial(self) -> bool:
        """Whether a message has begun and not ended. At the end of a stream: it was cut off."""
        return bool(self._partial)

    def _extend(self, view: memoryview, position: int) -> int:
        """Add the bytes that the partial message lacks; return the position after them."""
        after = min(position + self._goal - len(self._partial), len(view))
        self._partial += view[position:after]
        if len(self._partial) == self._goal == SIZE.size:
            self._goal += self._accept(SIZE.unpack(self._partial)[0])
        return after

    def _take(self) -> Frame:
        """Return the message itself, not a copy: deleting at the front moves no bytes."""
        frame, self._partial, self._goal = self._partial, bytearray(), SIZE.size
        del frame[: SIZE.size]
        return frame

    def _accept(self, size: int) -> int:
        if not 0 < size <= self.max_bytes:
            raise BadFrameSize(f"a frame announces {size} bytes; 1 to {self.max_bytes} are allowed")
        return size
