"""Credentials for SCRAM: describe and alter them.

A password does not leave the client: it is salted here, and sent as salt and salted password.
"""

import secrets
from collections.abc import Iterable
from typing import Any

from kio.schema.alter_user_scram_credentials.v0 import request as alter_v0
from kio.schema.describe_user_scram_credentials.v0 import request as describe_v0
from kio.static.primitive import i8, i32

from engine.client.admin.requests import from_controller
from engine.client.admin.security_values import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from engine.client.cluster import ClusterClient, check
from engine.errors import ApiException, ErrorCode
from engine.security.scram import NUMBERS, salted
from engine.wire.apis import Api

SALT = 64  # bytes

Descriptions = dict[str, UserScramCredentialsDescription]


def describe_users(cluster: ClusterClient, users: Iterable[str] | None = None) -> Descriptions:
    """These users, or all that have credentials."""
    names = None if users is None else tuple(describe_v0.UserName(name=user) for user in users)
    request = describe_v0.DescribeUserScramCredentialsRequest(users=names)
    response = cluster.ask_any(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, request)
    check(response.error_code, response.error_message)
    found = {}
    for result in response.results:
        if users is not None:
            check(result.error_code, result.error_message)
        infos = [
            ScramCredentialInfo(ScramMechanism(it.mechanism), it.iterations)
            for it in result.credential_infos
        ]
        found[result.user] = UserScramCredentialsDescription(result.user, infos)
    return found


def describe_user(cluster: ClusterClient, user: str) -> UserScramCredentialsDescription:
    return describe_users(cluster, [user])[user]


def alter_user(cluster: ClusterClient, alterations: list[UserScramCredentialAlteration]) -> None:
    """Of one user: all of them, or none."""
    deletions = tuple(
        alter_v0.ScramCredentialDeletion(name=it.user, mechanism=i8(it.mechanism.value))
        for it in alterations
        if isinstance(it, UserScramCredentialDeletion)
    )
    upsertions = tuple(
        _upsertion(it) for it in alterations if isinstance(it, UserScramCredentialUpsertion)
    )
    request = alter_v0.AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)

    def take(response: Any) -> None:
        for result in response.results:
            check(result.error_code, result.error_message)

    from_controller(cluster, Api.ALTER_USER_SCRAM_CREDENTIALS, request, take)


def _upsertion(it: UserScramCredentialUpsertion) -> alter_v0.ScramCredentialUpsertion:
    info, salt = it.scram_credential_info, it.salt or secrets.token_bytes(SALT)
    mechanism = NUMBERS.get(info.mechanism.value)
    if mechanism is None:
        raise ApiException(ErrorCode.unsupported_sasl_mechanism, "Unknown SCRAM mechanism")
    return alter_v0.ScramCredentialUpsertion(
        name=it.user,
        mechanism=i8(info.mechanism.value),
        iterations=i32(info.iterations),
        salt=salt,
        salted_password=salted(mechanism, it.password.decode(), salt, info.iterations),
    )
