"""ApiVersions (API 18), versions 0 to 3: the APIs and versions that this broker serves.

It is the first request on a connection, so it must work between any two releases: a newer client
may send an unknown version. It gets a response in version 0 with error 35 and the versions of this
one API, and sends the request again.

Left out: features (KIP-584), of which Kafka 2.8 has none of its own.
"""

import re
from typing import Any

from kio.schema.api_versions.v3.response import ApiVersion, ApiVersionsResponse

from engine.broker.broker import Broker, Call
from engine.broker.handlers.results import NO_THROTTLE
from engine.errors import ErrorCode
from engine.wire.apis import Api

SOFTWARE_SINCE = 3  # from this version on, clients name their software

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def handle(broker: Broker, call: Call, request: Any) -> ApiVersionsResponse:
    software = (request.client_software_name, request.client_software_version)
    if call.version >= SOFTWARE_SINCE and not all(map(_SOFTWARE.fullmatch, software)):
        return _response(ErrorCode.invalid_request)
    return _response(ErrorCode.none, *sorted(broker.apis))


def unsupported() -> ApiVersionsResponse:
    """The response to an ApiVersions request in an unknown version (KIP-511)."""
    return _response(ErrorCode.unsupported_version, Api.API_VERSIONS)


def _response(code: ErrorCode, *apis: Api) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=code,
        api_keys=tuple(
            ApiVersion(api_key=api.value, min_version=api.oldest, max_version=api.newest)
            for api in apis
        ),
        throttle_time=NO_THROTTLE,
    )
