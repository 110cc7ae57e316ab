"""A call: what a handler knows of a request beside its message."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, cast

from engine.errors import ApiException
from engine.quotas.client_quota_manager import ControllerMutationQuota
from engine.security.principals import ANONYMOUS, Principal
from engine.wire.apis import APIS, Api
from engine.wire.codec import Apis
from engine.wire.errors import RequestHeader

log = logging.getLogger(__name__)


class Call(NamedTuple):
    """The header of a request, the client's address, the listener where it came in, who sent
    it, and what it may change."""

    header: RequestHeader
    peer: str
    listener: str = "PLAINTEXT"
    principal: Principal = ANONYMOUS
    mutations: ControllerMutationQuota | None = None  # of a request for topics, if there are quotas
    apis: Apis = APIS  # of the listener: with ZooKeeper and without it, some versions differ

    @property
    def api(self) -> Api:
        """Equal to a member of `Api`; in a row of another table it is not the same object."""
        return cast(Api, self.apis[self.header.api_key])

    @property
    def version(self) -> int:
        return self.header.api_version

    @property
    def host(self) -> str:
        """The client's host, as Java writes an address."""
        return f"/{self.peer.rpartition(':')[0]}"

    def take(self, partitions: int, now: int) -> None:
        """Partitions are created or deleted. Raises an ApiException if the client has to wait."""
        if self.mutations is not None:
            self.mutations.record(partitions, now)

    def refused(self, what: object, error: ApiException) -> ApiException:
        """Log the error: not every client shows it to its user."""
        log.info(
            "%s of %s by %s (%s) refused with %s: %s",
            self.api.name,
            what,
            self.peer,
            self.header.client_id,
            error.code.name,
            error.message,
        )
        return error


Handler = Callable[[Call, Any], Awaitable[Any]]  # returns the response; None: there is none
