"""Credentials for SCRAM: describe and alter them.

A password does not leave the client: it is salted here, and sent as salt and salted password.
"""

import secrets
from collections.abc import Iterable
from typing import Any

from kio.schema.alter_user_scram_credentials.v0 import request as alter_v0
from kio.schema.describe_user_scram_credentials.v0 import request as describe_v0
from kio.static.primitive import i8, i32

from engine.client.admin.operation import TO_ANY, check_row, check_rows, operation, to_controller
from engine.client.admin.security_values import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from engine.client.cluster import ClusterClient
from engine.errors import ApiException, ErrorCode
from engine.security.scram import NUMBERS, salted
from engine.wire.apis import Api

SALT = 64  # bytes

Descriptions = dict[str, UserScramCredentialsDescription]


def _described(response: Any) -> Descriptions:
    check_row(response)
    check_rows(response.results)
    return {
        row.user: UserScramCredentialsDescription(
            row.user,
            [
                ScramCredentialInfo(ScramMechanism(info.mechanism), info.iterations)
                for info in row.credential_infos
            ],
        )
        for row in response.results
    }


@operation(Api.DESCRIBE_USER_SCRAM_CREDENTIALS, TO_ANY, _described)
def describe_users(
    users: Iterable[str] | None = None,
) -> describe_v0.DescribeUserScramCredentialsRequest:
    """These users, or all that have credentials."""
    names = None if users is None else tuple(describe_v0.UserName(name=user) for user in users)
    return describe_v0.DescribeUserScramCredentialsRequest(users=names)


def describe_user(cluster: ClusterClient, user: str) -> UserScramCredentialsDescription:
    return describe_users(cluster, [user])[user]


@operation(
    Api.ALTER_USER_SCRAM_CREDENTIALS, to_controller, lambda response: check_rows(response.results)
)
def alter_user(
    alterations: list[UserScramCredentialAlteration],
) -> alter_v0.AlterUserScramCredentialsRequest:
    """Of one user: all of them, or none."""
    return alter_v0.AlterUserScramCredentialsRequest(
        deletions=tuple(
            alter_v0.ScramCredentialDeletion(
                name=alteration.user, mechanism=i8(alteration.mechanism.value)
            )
            for alteration in alterations
            if isinstance(alteration, UserScramCredentialDeletion)
        ),
        upsertions=tuple(
            _upsertion(alteration)
            for alteration in alterations
            if isinstance(alteration, UserScramCredentialUpsertion)
        ),
    )


def _upsertion(wanted: UserScramCredentialUpsertion) -> alter_v0.ScramCredentialUpsertion:
    info, salt = wanted.scram_credential_info, wanted.salt or secrets.token_bytes(SALT)
    mechanism = NUMBERS.get(info.mechanism.value)
    if mechanism is None:
        raise ApiException(ErrorCode.unsupported_sasl_mechanism, "Unknown SCRAM mechanism")
    return alter_v0.ScramCredentialUpsertion(
        name=wanted.user,
        mechanism=i8(info.mechanism.value),
        iterations=i32(info.iterations),
        salt=salt,
        salted_password=salted(mechanism, wanted.password.decode(), salt, info.iterations),
    )
