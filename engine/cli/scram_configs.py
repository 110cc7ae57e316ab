"""configs for users: their credentials for SCRAM, with the words of kafka-configs.sh.

    configs --alter --entity-type users --entity-name alice \\
        --add-config 'SCRAM-SHA-256=[iterations=8192,password=...],SCRAM-SHA-512=[password=...]'
    configs --alter --entity-type users --entity-name alice --delete-config SCRAM-SHA-512
    configs --describe --entity-type users            mechanisms and iterations; there is no more

As with Kafka's tool, the machine's list of processes has the password while the command runs.
"""

import re
from collections.abc import Sequence

from engine.cli import entities
from engine.cli.main import UsageError
from engine.client.admin.scram_requests import alter_user, describe_users
from engine.client.admin.security_values import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from engine.client.cluster import ClusterClient
from engine.config.quorum import NO_CREDENTIALS
from engine.errors import ApiException, ErrorCode
from engine.security.scram import MIN_ITERATIONS, NUMBERS

MECHANISMS = {name: ScramMechanism(number) for number, name in NUMBERS.items()}
_VALUE = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")


def alterations(
    names: Sequence[str], changes: entities.Changes
) -> list[UserScramCredentialAlteration]:
    """The requests for these changes; a UsageError if they make no sense."""
    if names == [entities.DEFAULT]:
        raise UsageError(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM "
            "Credentials using --bootstrap-server."
        )
    if not changes.keys() <= MECHANISMS.keys():
        raise UsageError(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' "
            "using --bootstrap-server."
        )
    (user,) = names
    return [
        UserScramCredentialDeletion(user, MECHANISMS[mechanism])
        if text is None
        else _upsertion(user, mechanism, text)
        for mechanism, text in changes.items()
    ]


def password_of(mechanism: str, text: str) -> tuple[str, int]:
    """The password and the iterations of `[iterations=8192,password=...]`."""
    found = _VALUE.fullmatch(text)
    if found is None or not found[2] or found[1] == "":
        raise UsageError(
            f"Invalid credential property {mechanism}: it is "
            f"{mechanism}=[iterations=NUMBER,password=PASSWORD]"
        )
    iterations = MIN_ITERATIONS if found[1] in (None, "-1") else int(found[1])
    if iterations < MIN_ITERATIONS:
        raise UsageError(
            f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for "
            f"{mechanism}"
        )
    return found[2], iterations


def _upsertion(user: str, mechanism: str, text: str) -> UserScramCredentialUpsertion:
    password, iterations = password_of(mechanism, text)
    info = ScramCredentialInfo(MECHANISMS[mechanism], iterations)
    return UserScramCredentialUpsertion(user, info, password.encode())


def alter(cluster: ClusterClient, altered: list[UserScramCredentialAlteration]) -> None:
    try:
        alter_user(cluster, altered)
    except ApiException as error:
        if error.code is not ErrorCode.unsupported_version:
            raise
        raise ApiException(error.code, f"{error.message}: {NO_CREDENTIALS}") from error
    print(f"Completed updating config for user {altered[0].user}.")


def describe(cluster: ClusterClient, names: Sequence[str]) -> None:
    """Of this user, or of all that have credentials; a user without any is no error. A cluster
    without ZooKeeper has none."""
    try:
        found = describe_users(cluster, names or None)
    except ApiException as error:
        if error.code is ErrorCode.unsupported_version:
            return
        if error.code is not ErrorCode.resource_not_found:
            raise
        what = f"SCRAM credential configs for user-principal '{names[0]}'"
        print(f"Error retrieving {what}: ResourceNotFoundException: {error.message}")
        return
    for user, description in found.items():
        infos = ", ".join(
            f"{NUMBERS[info.mechanism.value]}=iterations={info.iterations}"
            for info in description.scram_credential_infos
        )
        print(f"SCRAM credential configs for user-principal '{user}' are {infos}")
