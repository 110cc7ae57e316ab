"""The keys of a controller, with Kafka's names, defaults and ranges; and the list of voters.

    controller.quorum.voters=101@127.0.0.1:9193,102@127.0.0.1:9194,103@127.0.0.1:9195
    controller.listener.names=CONTROLLER
    listener.security.protocol.map=CONTROLLER:SASL_SSL,SASL_SSL:SASL_SSL
    sasl.mechanism.controller.protocol=PLAIN

Each controller has the same list. It does not change while they run. Nodes connect to controllers
by the protocol of the first listener that controller.listener.names has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from engine.config.key import at_least, invalid, key
from engine.config.listener_security import BY_THEIR_NAMES, PROTOCOLS, ListenerSecurityConfig
from engine.errors import invalid_config

VOTERS = "controller.quorum.voters"
NAMES = "controller.listener.names"
MECHANISM = "sasl.mechanism.controller.protocol"
PLAIN = "PLAIN"
NO_CREDENTIALS = (
    "SCRAM credentials are in the metadata from metadata.version 11 (3.5-IV2) on, and this is 7 "
    "(3.3-IV3): PLAIN is what a cluster without ZooKeeper has"
)
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def _authorizer(name: str, value: object) -> None:
    if value not in ("", STANDARD_AUTHORIZER):
        raise invalid(name, value, f"there is one authorizer, {STANDARD_AUTHORIZER}")


@dataclass(frozen=True, kw_only=True)
class QuorumKeys(ListenerSecurityConfig):
    """What each node of the quorum has: controllers, and brokers that observe it."""

    controller_listener_names: tuple[str, ...] = key(())
    """The names of the listeners of controllers; the first one counts."""

    sasl_mechanism_controller_protocol: str = key("GSSAPI")
    """The SASL mechanism of connections to controllers: PLAIN."""

    controller_quorum_election_timeout_ms: int = key(1000, at_least(1))
    """A voter that finds no leader for so long begins an election; at random up to twice that."""

    controller_quorum_fetch_timeout_ms: int = key(2000, at_least(1))
    """A follower without an answer of the leader for so long begins an election; a leader resigns
    without a majority that fetches for one and a half of it."""

    controller_quorum_election_backoff_max_ms: int = key(1000, at_least(0))
    """The longest wait of a candidate before its next election."""

    controller_quorum_request_timeout_ms: int = key(2000, at_least(1))
    """How long a request to another controller may take."""

    controller_quorum_retry_backoff_ms: int = key(20, at_least(0))
    """The wait after a request that has failed."""

    broker_session_timeout_ms: int = key(9000, at_least(1))
    """A broker without a heartbeat for so long is fenced."""

    metadata_max_idle_interval_ms: int = key(500, at_least(0))
    """The leader writes a NoOp record when it has written nothing for so long; 0: never."""

    metadata_log_max_record_bytes_between_snapshots: int = key(20 * 2**20, at_least(1))
    """A snapshot is made when the log has so many bytes that are in none."""

    metadata_log_max_snapshot_interval_ms: int = key(3_600_000, at_least(0))
    """A snapshot is made of the records that have waited for one so long; 0: only by bytes."""

    unclean_leader_election_interval_ms: int = key(300_000, at_least(1))
    """How often it is looked for partitions without a leader that may have an unclean one."""

    @property
    def controller_listener_name(self) -> str:
        return self.controller_listener_names[0].upper()

    @property
    def controller_names(self) -> frozenset[str]:
        return frozenset(name.upper() for name in self.controller_listener_names)

    def protocol_of(self, listener: str) -> str:
        """Where nothing is said and nothing else is secured, controllers need no security."""
        mapped = self.listener_security_protocol_map
        names = {text.partition(":")[0].strip().upper() for text in mapped}
        if listener not in self.controller_names or listener in names:
            return super().protocol_of(listener)
        self.require(
            mapped == BY_THEIR_NAMES and not self._is_secured(),
            f"Controller listener with name {listener} defined in {NAMES} not found in "
            "listener.security.protocol.map  (an explicit security mapping for each controller "
            "listener is required if listener.security.protocol.map is non-empty, or if there are "
            "security protocols other than PLAINTEXT in use)",
        )
        return PROTOCOLS[0]

    def _is_secured(self) -> bool:
        """Whether a listener has the name of a protocol with TLS or SASL."""
        return not self.controller_names.isdisjoint(PROTOCOLS[1:])

    def check_controller_mechanism(self) -> None:
        """Refuse what nobody could log in with."""
        mechanism = self.sasl_mechanism_controller_protocol
        if self.protocol_of(self.controller_listener_name).startswith("SASL"):
            self.require(mechanism == PLAIN, f"{MECHANISM}={mechanism}: {NO_CREDENTIALS}")


@dataclass(frozen=True, kw_only=True)
class ControllerConfig(QuorumKeys):
    """See the keys of a broker in broker.py; the others of Kafka's controllers are not served."""

    kind: ClassVar[str] = "controller"

    controller_listener_names: tuple[str, ...] = key(("CONTROLLER",))
    """The names of the listeners of controllers; the first one counts."""

    auto_leader_rebalance_enable: bool = key(True)
    """Whether preferred leaders get their partitions back by themselves."""

    leader_imbalance_check_interval_seconds: int = key(300, at_least(1))
    """How often it is looked for partitions that others lead."""

    unclean_leader_election_enable: bool = key(False)
    """Whether a replica out of the ISR may lead, for topics that do not say."""

    num_partitions: int = key(1, at_least(1))
    """How many partitions a new topic has that does not say."""

    default_replication_factor: int = key(1, at_least(1))
    """How many replicas a new topic has that does not say."""

    delete_topic_enable: bool = key(True)
    """Whether topics can be deleted."""

    authorizer_class_name: str = key("", _authorizer)
    """The class of the authorizer. Without one, everybody may do everything."""

    super_users: str = key("")
    """Who may do everything: User:admin;User:root. Nodes of the cluster have to be among them."""

    allow_everyone_if_no_acl_found: bool = key(False)
    """Who may use a resource for which there is no access control list."""

    socket_request_max_bytes: int = key(100 * 2**20, at_least(1))
    """The largest request."""

    def validate_together(self) -> None:
        named = bool(self.controller_listener_names)
        self.require(named, f"{NAMES} must contain at least one value")
        self.check_controller_mechanism()
        super().validate_together()


class VoterAddress(NamedTuple):
    host: str
    port: int


def parse_voters(text: str, node_id: int | None) -> Mapping[int, VoterAddress]:
    """The voters by their ids, or an ApiException. `node_id`: of the controller that has the list,
    which must be in it; None: of a broker."""
    voters: dict[int, VoterAddress] = {}
    for entry in filter(None, (entry.strip() for entry in text.split(","))):
        id, at, address = entry.partition("@")
        host, colon, port = address.rpartition(":")
        if not at or not colon or not host or not port.isdecimal() or int(port) >= 2**16:
            raise invalid_config(
                f"Invalid configuration value {entry} for {VOTERS}. Each entry should be in the "
                "form `{id}@{host}:{port}`."
            )
        if not id.isdecimal():
            raise invalid_config(f"Failed to parse voter ID as an integer from {id}")
        if int(id) in voters:
            raise invalid_config(f"{VOTERS} has voter {id} twice: {text}")
        voters[int(id)] = VoterAddress(host.strip("[]"), int(port))
    if not voters:
        raise invalid_config(
            f"If using process.roles, {VOTERS} must contain a parseable set of voters."
        )
    if node_id is not None and node_id not in voters:
        listed = ", ".join(map(str, sorted(voters)))
        raise invalid_config(
            "If process.roles contains the 'controller' role, the node id "
            f"{node_id} must be included in the set of voters {VOTERS}=Set({listed})"
        )
    return voters
