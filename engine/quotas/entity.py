"""Whom a quota is for, and which quota counts for a client.

    users/alice/clients/app          alice, as long as she uses the client id app
    users/alice/clients/<default>    alice with each other client id, for each of them
    users/alice                      alice, whatever client ids she uses, all together
    users/<default>/clients/app
    users/<default>/clients/<default>
    users/<default>                  each other user
    clients/app                      app, whoever uses it, all together
    clients/<default>                each other client id
    quota.producer.default, quota.consumer.default: likewise, from before there were the others

The first of these that is set counts, for each key by itself. What a client uses is counted for the
group that it belongs to by this quota: by user and client id, by user, or by client id.

A client without a client id is not in any group by client id, as in Kafka.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple


class Special(Enum):
    DEFAULT = "<default>"  # stands for everybody without a quota of their own


DEFAULT = Special.DEFAULT
Name = str | Special


class ClientQuotaEntity(NamedTuple):
    """A user, a client id, or both; or an address. None: the entity does not have this part."""

    user: Name | None = None
    client: Name | None = None
    ip: Name | None = None

    def parts(self) -> Iterator[tuple[str, str | None]]:
        """As the protocol has them: the types with the names, None for the default."""
        for kind, name in zip(TYPES, self, strict=True):
            if name is not None:
                yield kind, None if isinstance(name, Special) else name


TYPES = "user", "client-id", "ip"  # of ClientQuotaEntity, in the protocol


class QuotaGroup(NamedTuple):
    """Whose use is counted together."""

    user: str  # "": all users
    client: str  # "": all client ids


def candidates(user: str, client: str) -> Iterator[ClientQuotaEntity]:
    """The entities that a client belongs to; the first one with a quota counts."""
    for whose in (user, DEFAULT):
        if client:
            yield ClientQuotaEntity(whose, client)
            yield ClientQuotaEntity(whose, DEFAULT)
        yield ClientQuotaEntity(whose)
    if client:
        yield ClientQuotaEntity(client=client)
        yield ClientQuotaEntity(client=DEFAULT)


def find(
    quotas: Mapping[ClientQuotaEntity, float], user: str, client: str
) -> tuple[QuotaGroup, float] | None:
    """The group of a client, and its quota; None if nobody limits it."""
    for entity in candidates(user, client):
        if entity in quotas:
            group = QuotaGroup(
                "" if entity.user is None else user, "" if entity.client is None else client
            )
            return group, quotas[entity]
    return None
