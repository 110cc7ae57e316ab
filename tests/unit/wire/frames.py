"""A response as one frame of bytes, as a test's broker or client has it."""

from typing import Any

from engine.wire import codec
from engine.wire.apis import APIS
from engine.wire.errors import RequestHeader


def encode_response(header: RequestHeader, response: Any, apis: codec.Apis = APIS) -> bytes:
    return b"".join(codec.encode_response(header, response, apis))  # type: ignore[arg-type]
