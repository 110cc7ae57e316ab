"""DescribeUserScramCredentials (API 50), version 0, and AlterUserScramCredentials (API 51),
version 0: the credentials with which users log in by SCRAM.

    client: salt, salted password  ─>  controller  ─>  the metadata: salt and two keys

The password itself is not sent: the client salts it. The broker stores keys that are computed from
it, and every broker reads them. A description has the mechanisms and iterations, and no key.

Each user succeeds or fails as a whole: after a mistake in one place, nothing of that user changes.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kio.schema.alter_user_scram_credentials.v0 import response as alter_v0
from kio.schema.describe_user_scram_credentials.v0 import response as describe_v0

from engine.broker.call import Call
from engine.broker.handlers.results import attempt, error_fields
from engine.errors import ApiException, ErrorCode
from engine.metadata.gateway import ControllerGateway
from engine.security.scram import MAX_ITERATIONS, MIN_ITERATIONS, NUMBERS, ScramCredential
from engine.wire.primitives import NO_THROTTLE

EMPTY = "Username must not be empty"


async def describe(
    gateway: ControllerGateway, call: Call, request: Any
) -> describe_v0.DescribeUserScramCredentialsResponse:
    asked = [each.name for each in request.users or ()]
    found = await attempt(gateway.credentials())
    known = {} if isinstance(found, ApiException) else found
    counts = Counter(asked) or Counter(sorted(name for name, each in known.items() if each))
    results = () if isinstance(found, ApiException) else counts
    return describe_v0.DescribeUserScramCredentialsResponse(
        throttle_time=NO_THROTTLE,
        **error_fields(found),
        results=tuple(_described(name, counts[name], known.get(name, {})) for name in results),
    )


def _described(
    name: str, asked: int, config: Mapping[str, str]
) -> describe_v0.DescribeUserScramCredentialsResult:
    refused, infos = None, []
    if not name:
        refused = ApiException(ErrorCode.resource_not_found, EMPTY)
    elif asked > 1:
        refused = ApiException(
            ErrorCode.duplicate_resource,
            "Cannot describe SCRAM credentials for the same user twice in a single request: "
            + name,
        )
    else:
        try:
            infos = [
                describe_v0.CredentialInfo(
                    mechanism=number, iterations=ScramCredential.parse(config[it]).iterations
                )
                for number, it in NUMBERS.items()
                if it in config
            ]
        except ValueError as error:
            refused = ApiException(ErrorCode.unknown_server_error, str(error))
        if not infos and refused is None:
            refused = ApiException(
                ErrorCode.resource_not_found,
                f"Attempt to describe a user credential that does not exist: {name}",
            )
    return describe_v0.DescribeUserScramCredentialsResult(
        user=name, **error_fields(refused), credential_infos=tuple(infos)
    )


async def alter(
    gateway: ControllerGateway, call: Call, request: Any
) -> alter_v0.AlterUserScramCredentialsResponse:
    names = list(dict.fromkeys(it.name for it in (*request.deletions, *request.upsertions)))
    active = gateway.is_controller
    results = []
    for name in names:
        deletions = [it for it in request.deletions if it.name == name]
        upsertions = [it for it in request.upsertions if it.name == name]
        outcome: object = ApiException(
            ErrorCode.not_controller, "This is not the correct controller for this cluster."
        )
        if active:
            outcome = await attempt(_alter(gateway, name, deletions, upsertions))
        results.append(alter_v0.AlterUserScramCredentialsResult(user=name, **error_fields(outcome)))
    return alter_v0.AlterUserScramCredentialsResponse(
        throttle_time=NO_THROTTLE, results=tuple(results)
    )


async def _alter(
    gateway: ControllerGateway, name: str, deletions: list[Any], upsertions: list[Any]
) -> None:
    _check(name, deletions, upsertions)

    def change(credentials: dict[str, str]) -> None:
        for each in deletions:
            if credentials.pop(NUMBERS[each.mechanism], None) is None:
                raise ApiException(
                    ErrorCode.resource_not_found,
                    "Attempt to delete a user credential that does not exist",
                )
        for each in upsertions:
            mechanism = NUMBERS[each.mechanism]
            credentials[mechanism] = ScramCredential.of(
                mechanism, each.salt, each.salted_password, each.iterations
            ).text()

    await gateway.alter_credentials(name, change)


def _check(name: str, deletions: list[Any], upsertions: list[Any]) -> None:
    if not name:
        raise ApiException(ErrorCode.unacceptable_credential, EMPTY)
    for each in (*upsertions, *deletions):
        if each.mechanism not in NUMBERS:
            raise ApiException(ErrorCode.unsupported_sasl_mechanism, "Unknown SCRAM mechanism")
    for each in upsertions:
        if each.iterations < MIN_ITERATIONS:
            raise ApiException(ErrorCode.unacceptable_credential, "Too few iterations")
        if each.iterations > MAX_ITERATIONS:
            raise ApiException(ErrorCode.unacceptable_credential, "Too many iterations")
    counts = Counter(each.mechanism for each in (*deletions, *upsertions))
    if max(counts.values()) > 1:
        raise ApiException(
            ErrorCode.duplicate_resource,
            "A user credential cannot be altered twice in the same request",
        )
