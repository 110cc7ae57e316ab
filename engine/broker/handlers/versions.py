"""ApiVersions (API 18), versions 0 to 3: the APIs and versions that this broker serves; and
UpdateFeatures (API 57), version 0.

ApiVersions is the first request on a connection, so it must work between any two releases: a newer
client may send an unknown version. It gets a response in version 0 with error 35 and the versions
of this one API, and sends the request again.

Kafka 2.8 has no features of its own (KIP-584). So there is none that UpdateFeatures could change:
the controller refuses each by name. Without ZooKeeper there is one, `metadata.version`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kio.schema.api_versions.v3.response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kio.schema.update_features.v0.response import UpdatableFeatureResult, UpdateFeaturesResponse

from engine.broker.call import Call
from engine.broker.handlers.results import error_fields
from engine.config import BrokerConfig
from engine.config.protocol import Feature
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.metadata.gateway import ControllerGateway
from engine.wire.apis import Api, ApiKey
from engine.wire.primitives import NO_THROTTLE

SOFTWARE_SINCE = 3  # from this version on, clients name their software

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def handle(apis: Iterable[ApiKey], call: Call, request: Any) -> ApiVersionsResponse:
    return respond(apis, request, call.version)


def with_features(
    response: ApiVersionsResponse,
    supported: Mapping[str, tuple[int, int]],
    finalized: Mapping[str, int],
    epoch: int,
) -> ApiVersionsResponse:
    """With the levels of features that this node can work with, and those of the cluster, as of an
    offset of the metadata log."""
    if response.error_code is not ErrorCode.none:
        return response
    return replace(
        response,
        supported_features=tuple(
            SupportedFeatureKey(name=name, min_version=least, max_version=most)
            for name, (least, most) in supported.items()
        ),
        finalized_features_epoch=epoch,
        finalized_features=tuple(
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in sorted(finalized.items())
        ),
    )


def respond(apis: Iterable[ApiKey], request: Any, version: int) -> ApiVersionsResponse:
    software = (request.client_software_name, request.client_software_version)
    if version >= SOFTWARE_SINCE and not all(map(_SOFTWARE.fullmatch, software)):
        return _response(ErrorCode.invalid_request)
    return _response(ErrorCode.none, *sorted(apis))


def unsupported() -> ApiVersionsResponse:
    """The response to an ApiVersions request in an unknown version (KIP-511)."""
    return _response(ErrorCode.unsupported_version, Api.API_VERSIONS)


def _response(code: ErrorCode, *apis: ApiKey) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=code,
        api_keys=tuple(
            ApiVersion(api_key=api.value, min_version=api.oldest, max_version=api.newest)
            for api in apis
        ),
        throttle_time=NO_THROTTLE,
    )


async def update_features(
    config: BrokerConfig, gateway: ControllerGateway, call: Call, request: Any
) -> UpdateFeaturesResponse:
    refused = None
    if not gateway.is_controller:
        refused = ApiException(ErrorCode.not_controller, "This is not the correct controller.")
    elif not config.speaks(Feature.FEATURE_VERSIONS):
        why = "Feature versioning system is disabled."
        refused = invalid_request(why)
    updates = () if refused else request.feature_updates
    return UpdateFeaturesResponse(
        throttle_time=NO_THROTTLE,
        **error_fields(refused),
        results=tuple(
            UpdatableFeatureResult(
                feature=each.feature,
                error_code=ErrorCode.invalid_request,
                error_message=_fault(each),
            )
            for each in updates
        ),
    )


def _fault(update: Any) -> str:
    if not update.feature:
        return "Feature name can not be empty."
    if update.max_version_level < 1 and update.allow_downgrade:
        return "Can not delete non-existing finalized feature."
    if update.max_version_level < 1:
        return (
            f"Can not provide maxVersionLevel: {update.max_version_level} less than 1 without "
            "setting the allowDowngrade flag to true in the request."
        )
    return "Could not apply finalized feature update because the provided feature is not supported."
