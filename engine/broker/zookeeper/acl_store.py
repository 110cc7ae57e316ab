"""The access control lists in ZooKeeper, as every broker follows and changes them.

    CreateAcls, DeleteAcls ──> change ──> /kafka-acl/Topic/orders         with its version
                                     ──> /kafka-acl-changes/acl_changes_# a note to every broker
    a note ──> reload ──> the authorizer

A list that cannot be read denies everything to everybody: a super user can still repair it.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from engine.broker.zookeeper.change_notifications import ChangeNotifications
from engine.errors import ApiException, ErrorCode
from engine.metadata.delta import MetadataDelta
from engine.metadata.gateway import Entries
from engine.security.acls import (
    EVERYBODY,
    OF_2_8,
    WILDCARD,
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    ResourcePattern,
)
from engine.security.authorizer import AclAuthorizer
from engine.zookeeper import acl_znodes
from engine.zookeeper.client import ZookeeperClient
from engine.zookeeper.decoder import Decoder
from engine.zookeeper.requests import Children, Create, Delete, Get, Refused, Set, Write, ZnodeData

RETRIES = 10  # of a write, if others change the same list
RETRY_S = 0.1  # before the next attempt
DENY_ALL = AccessControlEntry(EVERYBODY, WILDCARD, AclOperation.ALL, AclPermissionType.DENY)


@dataclass(eq=False)
class AclStore:
    _authorizer: AclAuthorizer
    _zookeeper: ZookeeperClient
    _decoder: Decoder
    _now: Callable[[], int]
    _apply: Callable[[MetadataDelta], None]

    def __post_init__(self) -> None:
        self.notes = [
            ChangeNotifications(path, self._zookeeper, self._decoder, self._now, self._read)
            for path in acl_znodes.CHANGES.values()
        ]

    # -- follow --------------------------------------------------------------------------

    async def load(self) -> None:
        """Read every list, at the start and after a lost connection."""
        # Refused where the node exists.
        await self._zookeeper.ask([Create(path, parents=True) for path in acl_znodes.PATHS])
        kinds = [(pattern, kind) for pattern in acl_znodes.ACLS for kind in OF_2_8]
        names = await self._zookeeper.ask(
            [Children(f"{acl_znodes.ACLS[pattern]}/{kind.title}") for pattern, kind in kinds]
        )
        there = {
            ResourcePattern(kind, name, pattern)
            for (pattern, kind), found in zip(kinds, names, strict=True)
            for name in found or ()
        }
        for resource in there.union(self._authorizer.resources):
            await self._reload(resource)

    async def _read(self, path: str, data: bytes) -> None:
        harm = "no access control list is read again"
        resource = self._decoder.read(acl_znodes.decode_acl_change, path, data, harm)
        if resource is not None:
            await self._reload(resource)

    async def _reload(self, resource: ResourcePattern) -> None:
        (node,) = await self._zookeeper.ask([Get(acl_znodes.acl_path(resource))])
        self._apply(MetadataDelta(acls={resource: self._entries(resource, node)}))

    def _entries(self, resource: ResourcePattern, node: ZnodeData | None) -> Entries:
        path, harm = acl_znodes.acl_path(resource), "only super users may use what it is about"
        found = self._decoder.read(acl_znodes.decode_acls, path, node.data if node else b"", harm)
        return frozenset([DENY_ALL]) if found is None else found

    # -- change --------------------------------------------------------------------------

    async def change(
        self, resource: ResourcePattern, changed: Callable[[Entries], Entries]
    ) -> None:
        """Replace a resource's entries by what `changed` makes of them; nobody's change is lost."""
        for _ in range(RETRIES + 1):
            path = acl_znodes.acl_path(resource)
            (node,) = await self._zookeeper.ask([Get(path)])
            before = self._entries(resource, node)
            after = changed(before)
            if after == before:
                return
            (written,) = await self._zookeeper.ask([_write(path, node, after)])
            if not isinstance(written, Refused):
                self._apply(MetadataDelta(acls={resource: after}))
                note = f"{acl_znodes.CHANGES[resource.pattern]}/{acl_znodes.CHANGE}"
                await self._zookeeper.ask(
                    [Create(note, acl_znodes.encode_acl_change(resource), sequence=True)]
                )
                return
            await asyncio.sleep(RETRY_S)
        raise ApiException(
            ErrorCode.unknown_server_error,
            f"Failed to update ACLs for {path} after trying a maximum of {RETRIES} times",
        )


def _write(path: str, node: ZnodeData | None, entries: Entries) -> Write:
    if node is None:
        return Create(path, acl_znodes.encode_acls(entries))
    if not entries:
        return Delete(path, node.stat.version)
    return Set(path, acl_znodes.encode_acls(entries), node.stat.version)
