"""The keys of a broker without ZooKeeper, with Kafka's names, defaults and sentences.

    process.roles=broker                  or broker,controller: both in one process
    node.id=1                             the broker's number, and the controller's
    controller.quorum.voters=101@127.0.0.1:9193,...
    controller.listener.names=CONTROLLER  which of the listeners is the controller's
    metadata.log.dir                      where the metadata log is; by default the first log dir

All other keys are those of any broker (broker.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from engine.config.broker import BrokerConfig
from engine.config.key import invalid, key
from engine.config.listeners import Listener
from engine.config.quorum import (
    STANDARD_AUTHORIZER,
    VOTERS,
    ControllerConfig,
    QuorumKeys,
    VoterAddress,
    parse_voters,
)
from engine.errors import invalid_config

BROKER, CONTROLLER = "broker", "controller"  # the roles
NAMES = "controller.listener.names"


def _roles(name: str, value: Any) -> None:
    for role in value:
        if role not in (BROKER, CONTROLLER):
            raise invalid_config(
                f"Unknown process role '{role}' (only 'broker' and 'controller' are allowed roles)"
            )
    if len({*value}) < len(value):
        listed = ",".join(value)
        raise invalid_config(f"Duplicate role names found in `process.roles`: {listed}")


def _authorizer(name: str, value: Any) -> None:
    if value not in ("", STANDARD_AUTHORIZER):
        raise invalid(name, value, f"there is one authorizer, {STANDARD_AUTHORIZER}")


@dataclass(frozen=True, kw_only=True)
class KRaftBrokerConfig(QuorumKeys, BrokerConfig):
    """The configuration of one broker without ZooKeeper."""

    kind: ClassVar[str] = "broker"

    broker_id: int = key(-1)
    """The number that identifies this broker: that of node.id."""
    zookeeper_connect: str = key("")
    """The address of ZooKeeper: empty, as this broker has none."""
    process_roles: tuple[str, ...] = key((BROKER,), _roles)
    """What this process is: broker, or broker and controller."""
    node_id: int = key(-1)
    """The number that identifies this node among brokers and controllers."""
    controller_quorum_voters: str = key("")
    """The controllers: ID@HOST:PORT,..."""
    controller_listener_names: tuple[str, ...] = key(())
    """The names of the listeners of controllers; the first one counts."""
    metadata_log_dir: str | None = key(None)
    """Where the metadata log is; by default in the first log directory."""
    broker_heartbeat_interval_ms: int = key(2000)
    """How often a broker tells the controller that it is alive."""
    initial_broker_registration_timeout_ms: int = key(60_000)
    """How long a broker that starts tries to register."""

    authorizer_class_name: str = key("", _authorizer)
    """The class that checks ACLs; without one everything is allowed."""

    @property
    def voters(self) -> Mapping[int, VoterAddress]:
        own = self.node_id if self.is_combined else None
        return parse_voters(self.controller_quorum_voters, own)

    @property
    def is_combined(self) -> bool:
        """Whether the process is a controller, too."""
        return CONTROLLER in self.process_roles

    @property
    def endpoints(self) -> tuple[Listener, ...]:
        """Of the broker: without the listener of a controller in the same process."""
        return self._listed(self._without_controllers(self.listeners))

    def protocol_of(self, listener: str) -> str:
        names = [text.partition(":")[0].upper() for text in self.listener_security_protocol_map]
        if listener in self._controller_names and listener not in names:
            return "PLAINTEXT"
        return super().protocol_of(listener)

    @property
    def _controller_names(self) -> set[str]:
        return {name.upper() for name in self.controller_listener_names}

    @property
    def controller_listener(self) -> Listener:
        """The listener of the controller in the same process."""
        brokers = self._without_controllers(self.listeners)
        return self._listed(tuple(text for text in self.listeners if text not in brokers))[0]

    @property
    def advertised(self) -> tuple[Listener, ...]:
        if self.advertised_listeners:
            return self._listed(self.advertised_listeners)
        return self.endpoints

    def _without_controllers(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        names = self._controller_names
        return tuple(text for text in texts if text.partition(":")[0].upper() not in names)

    @classmethod
    def parsed(cls, values: Mapping[str, str | None]) -> dict[str, Any]:
        fields = super().parsed(values)
        node_id = fields.get("node_id", fields.get("broker_id", -1))
        cls.require(
            fields.get("broker_id", node_id) == node_id,
            "You must set `node.id` to the same value as `broker.id`.",
        )
        return fields | {"node_id": node_id, "broker_id": node_id}

    def validate_together(self) -> None:
        self.require(
            self.node_id >= 0,
            "Missing configuration `node.id` which is required when `process.roles` is defined "
            "(i.e. when running in KRaft mode).",
        )
        self.require(
            BROKER in self.process_roles,
            "process.roles has no broker: `python -m engine controller` starts a controller alone",
        )
        voters = self.voters
        self.require(
            self.is_combined or self.node_id not in voters,
            "If process.roles contains just the 'broker' role, the node id "
            f"{self.node_id} must not be included in the set of voters "
            f"{VOTERS}=Set({', '.join(map(str, sorted(voters)))})",
        )
        self._check_listeners()
        super().validate_together()

    def _check_listeners(self) -> None:
        self.require(
            bool(self.controller_listener_names),
            f"{NAMES} must contain at least one value when running KRaft with just the broker role",
        )
        advertised = self.advertised_listeners or ()
        self.require(
            len(self._without_controllers(advertised)) == len(advertised),
            "The advertised.listeners config must not contain KRaft controller listeners from "
            f"{NAMES} when process.roles contains the broker role because Kafka clients that send "
            "requests via advertised listeners do not send requests to KRaft controllers -- they "
            "only send requests to KRaft brokers.",
        )
        named = len(self._without_controllers(self.listeners)) < len(self.listeners)
        self.require(
            named or not self.is_combined,
            f"{NAMES} must only contain values appearing in the 'listeners' configuration when "
            "running the KRaft controller role",
        )
        self.require(
            self.is_combined or not named,
            f"{NAMES} must not contain a value appearing in the 'listeners' configuration when "
            "running KRaft with just the broker role",
        )


class SettingsByRole(NamedTuple):
    broker: dict[str, str]
    controller: dict[str, str]


def by_role(settings: Mapping[str, str]) -> SettingsByRole:
    """The keys of a cluster, for its brokers and for its controllers: some are for both. A key that
    neither knows is a broker's, which refuses it."""
    controllers, brokers = ControllerConfig.known(), KRaftBrokerConfig.known()
    return SettingsByRole(
        {key: text for key, text in settings.items() if key in brokers or key not in controllers},
        {key: text for key, text in settings.items() if key in controllers},
    )
