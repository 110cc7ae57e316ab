"""Single requests to one broker, without retries or a search for the leader.

    with Connection(Address.parse("127.0.0.1:9092")) as broker:
        broker.ask(Api.METADATA, request, version=5)          in any version that the broker serves
        broker.send(Api.FETCH, one), broker.send(Api.FETCH, another)
        broker.receive(), broker.receive()                    in the order of the requests

Invariant: no request is sent twice. One that fails may have been carried out or not.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any, Self

from engine.client.address import Address
from engine.client.cluster import NO_SECURITY
from engine.client.core import ANY, Ask
from engine.client.metadata import MetadataView
from engine.client.network import NetworkClient, Submitted
from engine.config.client import ClientConfig
from engine.wire.apis import Api


class RawConnection:
    def __init__(
        self,
        address: Address,
        client_id: str = "brokerlab",
        security: Mapping[str, str] = NO_SECURITY,
    ) -> None:
        self._address = address
        settings = ClientConfig.parse(
            {**security, "bootstrap.servers": str(address), "client.id": client_id}
        )
        self._network = NetworkClient(
            settings, MetadataView(settings, automatic=False), has_thread=False
        )
        self._sent: deque[Submitted] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._network.close()

    def ask(self, api: Api, request: Any, version: int | None = None) -> Any:
        """The response to a request. No other request may be in flight."""
        assert not self._sent, "the next response would be that of an older request"
        self.send(api, request, version)
        return self.receive()

    def send(self, api: Api, request: Any, version: int | None = None) -> None:
        ask = Ask(ANY, api, request, at=self._address, version=version)
        self._sent.append(self._network.submit(ask))

    def receive(self) -> Any:
        """The response to the oldest request that was sent."""
        return self._network.result(self._sent.popleft())
