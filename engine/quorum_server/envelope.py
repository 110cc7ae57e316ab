"""Envelope 0: a request of a client that a broker passes on to the active controller.

    | request: header and body, as the client sent it | principal | address of the client |
    principal = version (2 bytes) | type | name | by a delegation token?

The broker has authenticated the client; the controller authorizes the client, and trusts only who
has ClusterAction. The answer is an Envelope, too: the response as the client is to get it, or an
error for the broker. NOT_CONTROLLER is for the broker: it looks for the controller and asks again.
"""

import ipaddress
from collections.abc import Container
from struct import Struct
from typing import Any, NamedTuple

from kio.schema.default_principal_data.v0.data import DefaultPrincipalData

from engine.errors import ApiException, ErrorCode
from engine.security.principals import Principal
from engine.wire.codec import decode_request
from engine.wire.controller_apis import CONTROLLER_APIS
from engine.wire.errors import Malformed, RequestHeader, UnservedVersion
from engine.wire.primitives import BYTES_ERRORS
from engine.wire.readers import message_reader

PRINCIPAL_VERSION = 0
_VERSION = Struct(">h")
_read_principal = message_reader(DefaultPrincipalData, DefaultPrincipalData)


class ForwardedRequest(NamedTuple):
    header: RequestHeader
    request: Any
    principal: Principal
    address: str  # of the client, with a port that is not known


def opened(envelope: Any, forwardable: Container[int]) -> ForwardedRequest:
    """What is in an Envelope, or an ApiException for the broker."""
    principal, address = _principal(envelope.request_principal), envelope.client_host_address
    try:
        host = ipaddress.ip_address(bytes(address))
    except ValueError as error:
        text = f"Failed to parse client address in envelope: {error}"
        raise ApiException(ErrorCode.invalid_request, text) from error
    key = int.from_bytes(bytes(envelope.request_data[:2]), signed=True)
    if key in CONTROLLER_APIS and key not in forwardable:
        text = f"API {CONTROLLER_APIS[key].name} is not enabled or is not eligible for forwarding"
        raise ApiException(ErrorCode.invalid_request, text)
    try:
        header, request = decode_request(envelope.request_data, forwardable, CONTROLLER_APIS)
    except UnservedVersion as error:
        raise ApiException(ErrorCode.unsupported_version, str(error)) from error
    except Malformed as error:
        text = f"Failed to parse request header from envelope: {error}"
        raise ApiException(ErrorCode.unsupported_version, text) from error
    return ForwardedRequest(header, request, principal, f"{host}:0")


def _principal(data: bytes | None) -> Principal:
    try:
        if data is None:
            raise Malformed("it is missing")
        data = bytes(data)
        (version,) = _VERSION.unpack_from(data)
        if version != PRINCIPAL_VERSION:
            raise Malformed(f"version {version}, and {PRINCIPAL_VERSION} is the newest")
        found, end = _read_principal(data, _VERSION.size)
        if end != len(data):
            raise Malformed("there are bytes too many")
    except (*BYTES_ERRORS, Malformed) as error:
        raise ApiException(
            ErrorCode.principal_deserialization_failure,
            f"Failed to deserialize client principal from envelope: {error}",
        ) from error
    return Principal(found.name, found.type_)
