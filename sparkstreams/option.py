"""Options of the source and the sink: a name, a type and a check each.

    .option("kafka.bootstrap.servers", "127.0.0.1:9092")   kafka.*: settings of the Kafka client
    .option("subscribe", "orders")                         the rest: fields of a dataclass

The fields of the dataclass are the definition. Names are case-insensitive, values are text. An
unknown name is refused, with the nearest known one; so is a setting of `kafka.*` that we don't
support but that a user may rely on.

Invariant: `Options` made by `of` are valid.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any, ClassVar, NamedTuple, Self

from engine.client.address import Address
from engine.client.cluster import ClusterClient
from engine.config.client import ALIASES, ClientConfig
from engine.config.key import Type, parse
from engine.errors import ApiException
from sparkstreams.offsets import bad

KAFKA = "kafka."
BOOTSTRAP = "bootstrap.servers"

# Spark itself adds these to the options.
OF_SPARK = frozenset(
    {"path", "paths", "checkpointlocation", "querytype", "queryname", "outputmode", "mergeschema"}
)
# Tuning of the Java client that does not change what is read or written.
WITHOUT_EFFECT = re.compile(
    r"(send|receive)\.buffer\.bytes|connections\.max\.idle\.ms|client\.dns\.lookup"
    r"|metrics?\..*|auto\.include\.jmx\.reporter"
)
# What Java's clients call otherwise than librdkafka and ours.
OF_JAVA = {
    re.compile(r"sasl\.jaas\.config"): "give kafka.sasl.username and kafka.sasl.password",
    re.compile(r"ssl\.truststore\..*"): "give kafka.ssl.ca.location, a PEM file",
    re.compile(r"ssl\.keystore\..*"): "give kafka.ssl.certificate.location and "
    "kafka.ssl.key.location, PEM files",
}


Kind = Type | Callable[[str, str], Any]  # a function takes the name and the text
Check = Callable[[str, Any], None]


class Option(NamedTuple):
    """One line of a definition."""

    name: str
    kind: Kind
    check: Check | None

    def value(self, text: str) -> Any:
        made = (
            parse(self.name, self.kind, text)
            if isinstance(self.kind, Type)
            else self.kind(self.name, text)
        )
        if self.check is not None:
            self.check(self.name, made)
        return made


def option(name: str, default: Any, kind: Kind, check: Check | None = None) -> Any:
    """A field of the dataclass."""
    return field(default=default, metadata={"option": Option(name, kind, check)})


@dataclass(frozen=True, kw_only=True)
class Options:
    """What source and sink share: how to reach the cluster, and how options are read."""

    client: ClassVar[type[ClientConfig]] = ClientConfig  # whose settings `kafka.*` are
    refused: ClassVar[Mapping[str, str]] = {}  # settings that Spark replaces: what to do instead

    # bootstrap.servers and others, without the "kafka."; passwords are among them
    kafka: Mapping[str, str] = field(repr=False)

    @classmethod
    def known(cls) -> dict[str, tuple[str, Option]]:
        """By its name in lower case: the field and its definition."""
        return {
            it.metadata["option"].name.lower(): (it.name, it.metadata["option"])
            for it in fields(cls)
            if "option" in it.metadata
        }

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        values: dict[str, Any] = {}
        kafka: dict[str, str] = {}
        known = cls.known()
        for name, text in given.items():
            if name.lower().startswith(KAFKA):
                kafka[name.lower().removeprefix(KAFKA)] = text
            elif name.lower() in known:
                its_field, it = known[name.lower()]
                values[its_field] = it.value(text)
            elif name.lower() not in OF_SPARK:
                raise bad(name, f"there is no such option; {cls._nearest(name)}")
        made = cls(kafka=cls._client_settings(kafka), **values)
        made.validate_together()
        return made

    def validate_together(self) -> None:
        """Refuse values that are fine alone and not together."""

    @classmethod
    def _nearest(cls, name: str) -> str:
        known = {key: it.name for key, (_, it) in cls.known().items()}
        kafka = [KAFKA + it for it in list(cls.client.keys())]
        if near := get_close_matches(name.lower(), [*known, *kafka], n=1):
            return f"did you mean {known.get(near[0], near[0])}?"
        return f"there are {', '.join(sorted(known.values()))} and kafka.*"

    @classmethod
    def _client_settings(cls, kafka: dict[str, str]) -> dict[str, str]:
        """The settings that have an effect, checked; one that is not supported is an error."""
        if not kafka.get(BOOTSTRAP):
            raise bad(KAFKA + BOOTSTRAP, "it must say where brokers are, as HOST:PORT,...")
        taken = {}
        for name, text in kafka.items():
            if name in cls.refused:
                raise bad(KAFKA + name, cls.refused[name])
            for of_java, instead in OF_JAVA.items():
                if of_java.fullmatch(name):
                    raise bad(KAFKA + name, f"this is Java's name; {instead}")
            if not WITHOUT_EFFECT.fullmatch(name):
                taken[ALIASES.get(name, name)] = text
        try:
            config = cls.client.parse(taken)
            for address in config.bootstrap_servers:
                Address.parse(address)
        except ApiException as error:
            raise ApiException(error.code, f"{KAFKA}*: {error.message}") from error
        return taken

    @property
    def bootstrap(self) -> str:
        return self.kafka[BOOTSTRAP]

    @property
    def addresses(self) -> list[Address]:
        return [Address.parse(text) for text in self.bootstrap.split(",")]

    def connect(self, patience: float, **how: Any) -> ClusterClient:
        """A client of this cluster; `how`: further arguments of ClusterClient."""
        config = self.client.parse(self.kafka)
        return ClusterClient(
            self.addresses,
            config.client_id or "brokerlab",
            config.request_timeout_ms / 1000,
            patience,
            security=config.security_texts(),
            **how,
        )
