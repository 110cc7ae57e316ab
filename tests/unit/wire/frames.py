"""A response as one frame of bytes, as a test's broker or client has it."""

from typing import Any

from engine.wire import codec
from engine.wire.errors import RequestHeader


def encode_response(header: RequestHeader, response: Any) -> bytes:
    return b"".join(codec.encode_response(header, response))  # type: ignore[arg-type]
