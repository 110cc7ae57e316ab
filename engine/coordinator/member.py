"""One member of a group, as its coordinator knows it.

A member names the protocols that it could work with, the one it likes best first, each with
bytes that only other members understand: for a consumer, a protocol is an assignment strategy,
and the bytes are its subscription.

A static member (KIP-345) has a name of its own, `group.instance.id`, that outlives its member id:
who comes back under that name, after a restart, takes the place it had.
"""

from collections.abc import Container
from dataclasses import dataclass

from engine.coordinator.effects import Caller

Protocols = tuple[tuple[str, bytes], ...]  # names with their metadata, the best first


@dataclass(slots=True, kw_only=True)
class Member:
    id: str
    instance_id: str | None
    client_id: str
    host: str
    rebalance_timeout: int  # how long it may take to join again
    session_timeout: int  # how long it may be silent
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False  # has not seen the end of a rebalance, so it can't send heartbeats
    joining: Caller | None = None  # to be answered when all have joined
    syncing: Caller | None = None  # to be answered when there is an assignment
    has_synced: bool = True  # has asked for its assignment in this generation

    def __post_init__(self) -> None:
        if self.rebalance_timeout < 0:  # the client, or the record, is older than 0.10.1
            self.rebalance_timeout = self.session_timeout

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_expected_to_be_silent(self) -> bool:
        """It waits for our answer. A new one is not trusted that far: it may have tried again."""
        return not self.is_new and not (self.joining is None and self.syncing is None)

    def metadata(self, protocol: str) -> bytes:
        return dict(self.protocols)[protocol]

    def vote(self, candidates: Container[str]) -> str:
        return next(name for name, _ in self.protocols if name in candidates)
