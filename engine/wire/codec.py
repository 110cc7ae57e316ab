"""The codec of messages: the size of the frame, a header, a body.

    request   | size | api key | version | correlation id | client id | tags* | body |
    response  | size | correlation id | tags* | body |
                                                            * in flexible versions

A frame to decode comes without its size, as `FrameReader` yields it; a frame that was encoded
has it, ready to be sent. The schemas of a version are imported when it is first used.

Which versions there are is said by the table of the listener's APIs: a broker's, unless the caller
names another one. A message is read into the shape of the newest version in that table.
"""

from collections.abc import Container, Mapping
from functools import lru_cache
from importlib import import_module
from struct import Struct
from typing import Any

from engine.wire import readers, writers
from engine.wire.apis import APIS, ApiKey
from engine.wire.errors import Malformed, RequestHeader, UnservedVersion
from engine.wire.frame import SIZE, Frame
from engine.wire.messages.versions import at
from engine.wire.names import named
from engine.wire.old_versions import OLDEST_IN_KIO, declare
from engine.wire.primitives import BYTES_ERRORS, SHORT, Draft, SizedSlice

Apis = Mapping[int, ApiKey]  # of a listener: a broker's, or a controller's

_REQUEST = Struct(">hhi")
_CORRELATION = Struct(">i")
_RESPONSE = Struct(">ii")  # size, correlation id
# Even in flexible headers the client id has its old format, so that any broker can read it.
_read_client_id = readers.content_reader(SHORT, nullable=True, take=readers.take_text)
_write_client_id = writers.text_writer(SHORT, nullable=True)


def decode_request(
    frame: Frame, served: Container[int], apis: Apis = APIS
) -> tuple[RequestHeader, Any]:
    """The header of a request, and its body in the shape of the newest version of its API.

    Raises `UnservedVersion` or another `Malformed`, and nothing else, whatever the bytes.
    """
    try:
        api_key, version, correlation_id = _REQUEST.unpack_from(frame)
        if api_key not in served:
            raise Malformed(f"API {api_key} is not served")
        api = apis[api_key]
        client_id, position = _read_client_id(frame, _REQUEST.size)
        if version >= api.flexible:
            position = readers.read_tags(frame, position, known={})
        header = RequestHeader(api_key, version, correlation_id, client_id)
        if not api.oldest <= version <= api.newest:
            raise UnservedVersion(header)
        # Kafka accepts a request with bytes left over, and librdkafka relies on it: its request for
        # the metadata of all topics has three bytes too many.
        request, _ = _reader(api, version, "request")(frame, position)
        return header, request
    except BYTES_ERRORS as error:
        raise Malformed(str(error)) from error


def decode_response(header: RequestHeader, frame: Frame, apis: Apis = APIS) -> Any:
    """The response to the request with this header, in the shape of the newest version."""
    api = apis[header.api_key]
    try:
        (correlation_id,) = _CORRELATION.unpack_from(frame)
        if correlation_id != header.correlation_id:
            raise Malformed(f"the response is to {correlation_id}, not {header.correlation_id}")
        position = _CORRELATION.size
        if api.response_header(header.api_version) == 1:
            position = readers.read_tags(frame, position, known={})
        response, end = _reader(api, header.api_version, "response")(frame, position)
        if end != len(frame):
            raise Malformed(f"the response ends at byte {end} of {len(frame)}")
        return response
    except BYTES_ERRORS as error:
        raise Malformed(str(error)) from error


def encode_request(header: RequestHeader, request: Any, apis: Apis = APIS) -> bytes:
    """The bytes of a request. Any object that has the fields of the version will do."""
    api = apis[header.api_key]
    draft = Draft()
    draft += _REQUEST.pack(header.api_key, header.api_version, header.correlation_id)
    _write_client_id(draft, header.client_id)
    if api.request_header(header.api_version) == 2:
        draft.append(0)
    _writer(api, header.api_version, "request")(draft, request)
    return SIZE.pack(len(draft)) + draft


def encode_response(
    header: RequestHeader, response: Any, apis: Apis = APIS
) -> list[Frame | SizedSlice]:
    """The pieces of a response: bytes, slice, bytes, and so on. Any object that has the fields of
    the version will do.

    The records of a Fetch response are in files: the kernel sends them from there, without a copy.
    """
    api = apis[header.api_key]
    draft = Draft()
    draft += _RESPONSE.pack(0, header.correlation_id)  # the size is filled in at the end
    if api.response_header(header.api_version) == 1:
        draft.append(0)
    _writer(api, header.api_version, "response")(draft, response)
    size = len(draft) - SIZE.size + sum(piece.size for _, piece in draft.slices)
    SIZE.pack_into(draft, 0, size)
    if not draft.slices:
        return [draft]
    pieces: list[Frame | SizedSlice] = []
    start = 0
    with memoryview(draft) as view:
        for position, piece in draft.slices:
            pieces += (bytes(view[start:position]), piece)
            start = position
        if start < len(draft):
            pieces.append(bytes(view[start:]))
    return pieces


# Two tables may have an API in common, with other versions: equal as numbers, not of one type.
@lru_cache(maxsize=None, typed=True)
def _reader(api: ApiKey, version: int, kind: str) -> readers.Reader:
    """Reads one version into the shape of the newest one. Looked up once for each message."""
    return readers.message_reader(message(api, version, kind), _declared(api, api.newest, kind))


@lru_cache(maxsize=None, typed=True)
def _writer(api: ApiKey, version: int, kind: str) -> writers.Writer:
    return writers.message_writer(message(api, version, kind))


@lru_cache(maxsize=None, typed=True)
def message(api: ApiKey, version: int, kind: str) -> type:
    """The dataclass that declares one version of a request or a response."""
    declared = _declared(api, version, kind)
    return at(declared, version, version >= api.flexible) if api.between_brokers else declared


@lru_cache(maxsize=None, typed=True)
def _declared(api: ApiKey, version: int, kind: str) -> type:
    """kio has a class for each version but the oldest; our own declarations cover all versions."""
    if version < (oldest := OLDEST_IN_KIO.get(api, 0)):
        return declare(_declared(api, oldest, kind), api, version, kind)
    name = api.name.title().replace("_", "") + kind.title()
    return named(getattr(import_module(api.schema(version, kind)), name))
