"""DescribeConfigs (API 32), versions 0 to 4; AlterConfigs (API 33), 0 to 2; IncrementalAlterConfigs
(API 44), 0 to 1.

    resource   topic T               what was set for it, over the broker's defaults
               broker N, itself      the keys that can change at run time, and (read only) the rest
               broker ""             what was set for all brokers at once

AlterConfigs replaces all that was set for a resource; IncrementalAlterConfigs sets, deletes,
appends to a list or subtracts from one, key by key. Both check the whole result first, then write
it through the gateway; every broker learns of it. This broker applies it before it responds. A
request that names a resource of an unknown type alters nothing.

Other programs may have written configurations. A key that this broker does not know is described
without a value, and stays when other keys are altered one by one. A key with a bad value is
described with the value in use, its default; the bad one is its first synonym.

A broker's log levels are resources too (broker_loggers.py). Left out: policies, secrets.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from kio.schema.alter_configs.v2.response import AlterConfigsResourceResponse, AlterConfigsResponse
from kio.schema.describe_configs.v4 import response as describe_v4
from kio.schema.incremental_alter_configs.v1.response import IncrementalAlterConfigsResponse

from engine.broker.call import Call
from engine.broker.config_cache import ConfigCache
from engine.broker.handlers import broker_loggers
from engine.broker.handlers.broker_loggers import Operation
from engine.broker.handlers.results import (
    Turns,
    attempt,
    attempt_each,
    code_of,
    error_fields,
    message_of,
)
from engine.broker.metadata import Metadata
from engine.config import (
    BrokerConfig,
    Config,
    Entry,
    Layer,
    Source,
    TopicConfig,
    Type,
    describe_broker,
    describe_topic,
)
from engine.config.inert import check_dynamic
from engine.config.key import integer, printed
from engine.errors import ApiException, ErrorCode, invalid_request
from engine.metadata.delta import EVERY_BROKER
from engine.metadata.gateway import ControllerGateway
from engine.topics import check_name
from engine.wire.primitives import NO_THROTTLE


class Resource(IntEnum):
    """A type of resource, by Kafka's numbers."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


class Entity(NamedTuple):
    """A resource as the metadata has it."""

    kind: str  # topics or brokers
    name: str  # a topic, a broker id, or <default>

    @property
    def config(self) -> type[Config]:
        return TopicConfig if self.kind == "topics" else BrokerConfig


def _described(entry: Entry, request: Any) -> describe_v4.DescribeConfigsResourceResult:
    return describe_v4.DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=entry.source,
        is_sensitive=entry.type in (Type.PASSWORD, Type.UNKNOWN),
        synonyms=tuple(
            describe_v4.DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in (entry.synonyms if request.include_synonyms else ())
        ),
        config_type=entry.type,
        documentation=entry.documentation if request.include_documentation else None,
    )


def _refuse_null(names: Iterable[str]) -> None:
    if named := ",".join(names):
        raise invalid_request(f"Null value not supported for : {named}")


def _operate(
    config: type[Config], values: dict[str, str], change: Any, *, by_controller: bool
) -> None:
    """A broker with ZooKeeper appends to a list what is there already; a controller does not."""
    match change.config_operation:
        case Operation.SET:
            values[change.name] = change.value
        case Operation.DELETE:
            values.pop(change.name, None)
        case Operation.APPEND | Operation.SUBTRACT as operation:
            word = Operation(operation).name.lower()
            key = config.known().get(change.name) or config.find(change.name)
            if key.type != Type.LIST and by_controller:
                why = f"Can't {word.upper()} to key {key.name} because its type is not LIST."
                raise ApiException(ErrorCode.invalid_config, why)
            if key.type != Type.LIST:
                raise invalid_request(
                    f"Config value {word} is not allowed for config key: {key.name}"
                )
            old = _items(values.get(key.name, printed(key.default)))
            named = _items(change.value)
            gone = set(named)
            kept = [item for item in old if item not in gone]
            added = [*old, *named]
            if by_controller:
                added = list(dict.fromkeys(added))
            values[key.name] = ",".join(kept if word == "subtract" else added)
        case _:
            raise invalid_request(f"There is no config operation {change.config_operation}")


def _items(text: str | None) -> list[str]:
    return [item.strip() for item in (text or "").split(",") if item.strip()]


@dataclass(frozen=True)
class ConfigHandlers:
    """The three APIs, with what they use."""

    broker_id: int
    metadata: Metadata
    configs: ConfigCache
    gateway: ControllerGateway
    check_listeners: Callable[[Mapping[str, str]], None]  # with texts of this broker's keys
    altered: Callable[[], None]  # called when a change has been written
    # Of a controller, which sets the keys of each broker; None: of a broker, which sets its own.
    is_registered: Callable[[int], bool] | None = None

    def _entity(self, asked: Any) -> Entity:
        name = asked.resource_name
        match asked.resource_type:
            case Resource.TOPIC:
                check_name(name)
                if name not in self.metadata.topics:
                    raise ApiException(
                        ErrorCode.unknown_topic_or_partition, f"The topic '{name}' does not exist."
                    )
                return Entity("topics", name)
            case Resource.BROKER:
                self._check_broker(name)
                return Entity("brokers", str(integer(name)) if name else EVERY_BROKER)
            case Resource.BROKER_LOGGER:
                raise invalid_request(
                    "AlterConfigs is deprecated and does not support the resource type "
                    "BROKER_LOGGER"
                )
            case _:
                raise invalid_request(
                    f"Unexpected resource type {asked.resource_type} for resource {name}"
                )

    def _check_broker(self, name: str) -> None:
        number = integer(name)
        if self.is_registered is None or number is None:
            broker_loggers.check_broker(self.broker_id, name, " or empty string,")
        elif not self.is_registered(number):
            why = f"No broker with id {name} found."
            raise ApiException(ErrorCode.broker_id_not_registered, why)

    # -- DescribeConfigs -------------------------------------------------------------------------

    async def describe(self, call: Call, request: Any) -> describe_v4.DescribeConfigsResponse:
        turns, results, layers = Turns(), [], self.configs.layers()
        for asked in request.resources:
            await turns.next()
            outcome = await attempt(self._resource(asked, request, layers))
            results.append(
                describe_v4.DescribeConfigsResult(
                    error_code=code_of(outcome),
                    error_message=message_of(outcome) or "",
                    resource_type=asked.resource_type,
                    resource_name=asked.resource_name,
                    configs=() if isinstance(outcome, ApiException) else tuple(outcome),
                )
            )
        return describe_v4.DescribeConfigsResponse(
            throttle_time=NO_THROTTLE, results=tuple(results)
        )

    async def _resource(
        self, asked: Any, request: Any, layers: list[Layer]
    ) -> list[describe_v4.DescribeConfigsResourceResult]:
        if asked.resource_type == Resource.BROKER_LOGGER:
            found = broker_loggers.described(self.broker_id, asked.resource_name)
        else:
            entries = self._entries(self._entity(asked), layers)
            found = [_described(each, request) for each in entries]
        wanted = asked.configuration_keys
        return [each for each in found if not wanted or each.name in wanted]

    def _entries(self, entity: Entity, layers: list[Layer]) -> list[Entry]:
        cache = self.configs
        if entity.kind == "topics":
            overrides = cache.overrides.get(entity, {})
            return describe_topic(cache.topic_config(entity.name), overrides, layers)
        if entity.name != EVERY_BROKER:
            return describe_broker(cache.broker_config, layers)
        overrides = cache.overrides.get(entity, {})
        config = cache.config(*entity, cache.static)
        layers = [(Source.DYNAMIC_DEFAULT_BROKER, overrides)]
        return [
            entry._replace(synonyms=[it for it in entry.synonyms if it.source != Source.DEFAULT])
            for entry in describe_broker(config, layers)
            if entry.name in overrides
        ]

    # -- AlterConfigs and IncrementalAlterConfigs ------------------------------------------------

    async def alter(self, call: Call, request: Any) -> AlterConfigsResponse:
        responses = await self._altered(request, self._replace)
        return AlterConfigsResponse(throttle_time=NO_THROTTLE, responses=responses)

    async def incremental_alter(self, call: Call, request: Any) -> IncrementalAlterConfigsResponse:
        responses = await self._altered(request, self._modify)
        return IncrementalAlterConfigsResponse(throttle_time=NO_THROTTLE, responses=responses)

    async def _altered(
        self, request: Any, change: Callable[[Any, bool], Awaitable[None]]
    ) -> tuple[AlterConfigsResourceResponse, ...]:
        """The rows of both APIs have the same fields. If one resource has an unknown type, the
        whole request is refused."""
        types = [each.resource_type for each in request.resources]
        unknown = next((each for each in types if each not in list(Resource)), None)
        outcomes: Sequence[ApiException | None]
        if unknown is None:
            changes = (change(asked, request.validate_only) for asked in request.resources)
            outcomes = await attempt_each(self.gateway, changes)
        else:
            outcomes = [invalid_request(f"Unexpected resource type {unknown}")] * len(types)
        return tuple(
            AlterConfigsResourceResponse(
                **error_fields(outcome),
                resource_type=asked.resource_type,
                resource_name=asked.resource_name,
            )
            for asked, outcome in zip(request.resources, outcomes, strict=True)
        )

    async def _replace(self, asked: Any, validate_only: bool) -> None:
        entity = self._entity(asked)
        _refuse_null(each.name for each in asked.configs if each.value is None)
        values = {each.name: each.value for each in asked.configs}
        await self._configure(entity, values, values, validate_only)

    async def _modify(self, asked: Any, validate_only: bool) -> None:
        twice = [
            name for name, count in Counter(it.name for it in asked.configs).items() if count > 1
        ]
        if twice:
            raise invalid_request(f"Error due to duplicate config keys : {','.join(twice)}")
        _refuse_null(
            f"{each.config_operation}:{each.name}"
            for each in asked.configs
            if each.value is None and each.config_operation != Operation.DELETE
        )
        if asked.resource_type == Resource.BROKER_LOGGER:
            return broker_loggers.alter(
                self.broker_id, asked.resource_name, asked.configs, validate_only
            )
        entity = self._entity(asked)
        values = dict(await self.gateway.config(*entity))
        for each in asked.configs:
            _operate(entity.config, values, each, by_controller=self.is_registered is not None)
        named = [each.name for each in asked.configs if each.name in values]
        await self._configure(entity, values, named, validate_only)

    async def _configure(
        self,
        entity: Entity,
        values: Mapping[str, str],
        named: Collection[str],
        validate_only: bool,
    ) -> None:
        self._check(entity, values, named)
        if not validate_only:
            await self.gateway.alter_config(*entity, values)
            self.altered()

    def _check(self, entity: Entity, values: Mapping[str, str], named: Collection[str]) -> None:
        """Refuse a topic's unknown key, a broker's key that needs a restart, or a bad value.

        Only the keys in this request are checked; other keys may have bad values from before.
        """
        cache, keys = self.configs, entity.config.keys()
        base: Config = cache.static
        if entity.kind == "topics":
            base = cache.broker_config.topic_defaults()
            for name in named:
                entity.config.find(name)
        try:
            if entity.kind == "brokers":
                changed = {name: values[name] for name in named}
                for_all = entity.name == EVERY_BROKER
                check_dynamic(changed, cache.static.known(), for_all=for_all)
                if not for_all:
                    self.check_listeners(changed)
                named = [name for name in named if name in keys]
            others, _ = base.lenient({name: values[name] for name in values if name not in named})
            entity.config.parse({name: values[name] for name in named}, base=others)
        except ApiException as error:
            if entity.kind == "topics" and self.is_registered is not None:
                raise ApiException(ErrorCode.invalid_config, error.message) from error
            kind = Resource.TOPIC if entity.kind == "topics" else Resource.BROKER
            name = "" if entity.name == EVERY_BROKER and kind is Resource.BROKER else entity.name
            what = f"ConfigResource(type={kind.name}, name='{name}')"
            raise invalid_request(
                f"Invalid config value for resource {what}: {error.message}"
            ) from error
