"""Where a broker listens: HOST:PORT."""

from typing import NamedTuple, Self

from engine.errors import invalid_config


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Self:
        host, _, port = text.strip().rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise invalid_config(f"{text!r} is not HOST:PORT, such as 127.0.0.1:9092")
        return cls(host.strip("[]"), int(port))
