"""The configurations of topics and brokers: what was set for them, over the defaults.

    MetadataDelta.configs ──> overrides ──> topic_config("orders")
                                       └──> broker_config

Other programs and other releases write configurations, too. A key that this broker does not
understand is ignored, stays in the metadata, and is reported once, by the event config.ignored.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from engine.config import BrokerConfig, Config, Layer, Source, TopicConfig
from engine.config.key import printed
from engine.metadata.delta import EVERY_BROKER, MetadataDelta

C = TypeVar("C", bound=Config)


@dataclass(eq=False, repr=False)  # it has credentials
class ConfigCache:
    static: BrokerConfig
    _report: Callable[..., None]  # gets an event: its kind, then the facts by name
    # (kind, name) -> what was set
    overrides: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    credentials: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of SCRAM, by user
    _configs: dict[str, TopicConfig] = field(default_factory=dict)
    _ignored: dict[str, Mapping[str, str]] = field(default_factory=dict)  # path -> key -> why

    def __post_init__(self) -> None:
        self.broker_config = self.static

    def apply(self, delta: MetadataDelta) -> None:
        for entity, values in delta.configs.items():
            if values is None:
                self.overrides.pop(entity, None)
            else:
                self.overrides[entity] = values
        if delta.credentials is not None:
            self.credentials = delta.credentials
        if delta.configs:
            self._compute()

    def _compute(self) -> None:
        """The command line, and the changes over it."""
        self._configs.clear()
        everywhere = self.config("brokers", EVERY_BROKER, self.static)
        self.broker_config = self.config("brokers", str(self.static.broker_id), everywhere)

    def config(self, kind: str, name: str, base: C) -> C:
        """What was set for an entity, over `base`. Bad keys are ignored and reported."""
        path = f"/config/{kind}/{name}"
        config, faults = base.lenient(self.overrides.get((kind, name), {}))
        known = self._ignored.pop(path, {})
        if faults:
            self._ignored[path] = faults
        for key, why in faults.items():
            if known.get(key) != why:
                self._report("config.ignored", path=path, key=key, why=why)
        return config

    def topic_config(self, topic: str) -> TopicConfig:
        if topic not in self._configs:
            defaults = self.broker_config.topic_defaults()
            self._configs[topic] = self.config("topics", topic, defaults)
        return self._configs[topic]

    def topics(self) -> list[str]:
        """The topics whose configuration is known here."""
        return [name for kind, name in self.overrides if kind == "topics"]

    def forget(self, topics: Iterable[str]) -> None:
        """These topics were deleted; a new one of the same name is another topic."""
        for topic in topics:
            self.overrides.pop(("topics", topic), None)
            self._configs.pop(topic, None)

    def layers(self) -> list[Layer]:
        """The sources of this broker's values. A key that it was started with is static, even if
        its value is the default."""
        keys, texts, given = self.static.known(), self.static.texts(), self.static.given
        static = {
            name: text
            for name, text in texts.items()
            if text is not None
            and (name in given or name not in keys or text != printed(keys[name].default))
        }
        own = str(self.static.broker_id)
        return [
            (Source.DYNAMIC_BROKER, self.overrides.get(("brokers", own), {})),
            (Source.DYNAMIC_DEFAULT_BROKER, self.overrides.get(("brokers", EVERY_BROKER), {})),
            (Source.STATIC_BROKER, static),
        ]
