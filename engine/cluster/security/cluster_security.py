"""A secured cluster: certificates, users, and the settings of brokers and clients.

    DIR/security/ca.pem, ca.key       the authority (authority.py)
    DIR/security/broker-N.properties  what broker N is started with beside its command line;
                                      controller-N.properties, where there are controllers
    DIR/security/passwords.json       of the users, and of the brokers' own one
    DIR/clients/alice.properties      what a client of alice needs, in librdkafka's keys
    DIR/clients/alice.java.properties ... and in Java's

The brokers log in to each other as a user of their own, by SCRAM-SHA-512. Its credential and those
of the users are in ZooKeeper before the first broker starts, as `kafka-configs --zookeeper` would
write them. With SASL all three mechanisms are open to all users.

Without ZooKeeper there is PLAIN only: SCRAM credentials begin with metadata.version 11. The
controllers' listener has the same protocol as the brokers'.

Invariant: passwords and private keys are in files that only their owner can read (0600), and on no
command line, where every user of the machine could see them.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError

from engine.cluster.security.authority import HOSTS, CertificateAuthority, write_secret
from engine.config.listener_security import BY_THEIR_NAMES, PROTOCOLS
from engine.config.properties import properties_text
from engine.config.quorum import NO_CREDENTIALS, PLAIN
from engine.errors import invalid_config
from engine.security import jaas
from engine.security.principals import znode_name
from engine.security.scram import HASHES, ScramCredential
from engine.zookeeper import znodes

BROKERS = "broker"  # the name of the brokers' own user
CONTROLLER = "CONTROLLER"  # the name of the controllers' listener
CERTIFICATE = "-----BEGIN CERTIFICATE-----"


class SaslMechanisms(NamedTuple):
    offered: tuple[str, ...]
    between_brokers: str
    standard: str  # of clients, unless they choose another one


WITH_ZOOKEEPER = SaslMechanisms((PLAIN, *HASHES), "SCRAM-SHA-512", "SCRAM-SHA-256")
WITH_CONTROLLERS = SaslMechanisms((PLAIN,), PLAIN, PLAIN)


class ClusterSecurity:
    def __init__(
        self, data: Path, protocol: str, users: Mapping[str, str], *, controllers: bool = False
    ) -> None:
        """`controllers`: the cluster has no ZooKeeper."""
        if protocol not in PROTOCOLS:
            raise invalid_config(f"{protocol!r} is none of {', '.join(PROTOCOLS)}")
        if protocol == PROTOCOLS[0]:
            secured = ", ".join(PROTOCOLS[1:])
            raise invalid_config(f"users need a security that asks for them: {secured}")
        for name, password in users.items():
            if not name or not password or not name.isprintable() or "/" in name:
                raise invalid_config(f"{name!r} is no name with a password")
        if BROKERS in users:
            raise invalid_config(f"{BROKERS} is the brokers' own user")
        self.protocol = protocol
        self._has_controllers = controllers
        self._mechanisms = WITH_CONTROLLERS if controllers else WITH_ZOOKEEPER
        self._home, self._clients = data / "security", data / "clients"
        for directory in (self._home, self._clients):
            directory.mkdir(parents=True, exist_ok=True)
        known = self._home / "passwords.json"
        passwords = json.loads(known.read_text()) if known.exists() else {}
        self._passwords = {BROKERS: secrets.token_urlsafe(24), **passwords, **users}
        write_secret(known, json.dumps(self._passwords))
        self._authority = CertificateAuthority(self._home) if self.tls else None
        for name in self.users:
            self._write_client(name)

    @property
    def tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    @property
    def users(self) -> list[str]:
        return [name for name in self._passwords if name != BROKERS]

    # -- brokers ---------------------------------------------------------------------------

    def with_super_user(self, config: Mapping[str, str]) -> dict[str, str]:
        """The brokers' own user may do everything, beside those whom the configuration names."""
        own = f"User:{BROKERS}" if self.sasl else f"User:CN={BROKERS}"
        named = config.get("super.users", "")
        return {**config, "super.users": f"{own};{named}" if named else own}

    def properties(self, broker: int, port: int) -> Path:
        """The file with a broker's settings, written anew."""
        path = self._home / f"broker-{broker}.properties"
        self.write(path, self.broker_settings(broker, port))
        return path

    def kafka_settings(self, broker: int, port: int) -> dict[str, str]:
        """The settings of a broker of Apache Kafka."""
        values = self.broker_settings(broker, port)
        keystore = values.pop("ssl.keystore.location", None)
        if keystore:
            key, begin, certificate = Path(keystore).read_text().partition(CERTIFICATE)
            values |= _keystore(key, begin + certificate)
        return values

    def write(self, path: Path, values: Mapping[str, object]) -> None:
        """A file of properties as Java reads them, for its owner only."""
        write_secret(path, properties_text(values, escapes=True))

    def broker_settings(self, broker: int, port: int) -> dict[str, str]:
        """Its listener, certificate and logins, passwords included."""
        name = self.protocol
        values = {
            "listeners": f"{name}://127.0.0.1:{port}",
            "security.inter.broker.protocol": name,
        }
        if self.tls:
            values |= self._tls(f"broker-{broker}")
        if self.sasl:
            values["sasl.enabled.mechanisms"] = ",".join(self._mechanisms.offered)
            values["sasl.mechanism.inter.broker.protocol"] = self._mechanisms.between_brokers
            for mechanism in self._mechanisms.offered:
                values |= self._login(name, mechanism)
        if self._has_controllers:
            values |= self._controllers()
        return values

    def _login(self, listener: str, mechanism: str) -> dict[str, str]:
        users = self._passwords if mechanism == PLAIN else {}
        key = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
        return {key: jaas.line(mechanism, BROKERS, self._passwords[BROKERS], users)}

    def controller_properties(self, controller: str) -> Path:
        """The file with the secrets of a controller, written anew: controller-1."""
        path = self._home / f"{controller}.properties"
        tls = self._tls(controller) if self.tls else {}
        self.write(path, {**tls, **self._controllers()})
        return path

    def _controllers(self) -> dict[str, str]:
        """The controllers' listener, for those who serve it and those who connect to it."""
        protocols = f"{CONTROLLER}:{self.protocol}", *BY_THEIR_NAMES
        values = {
            "controller.listener.names": CONTROLLER,
            "listener.security.protocol.map": ",".join(protocols),
        }
        if self.sasl:
            prefix = f"listener.name.{CONTROLLER.lower()}"
            values["sasl.mechanism.controller.protocol"] = PLAIN
            values[f"{prefix}.sasl.enabled.mechanisms"] = PLAIN
            values |= self._login(CONTROLLER, PLAIN)
        return values

    def _tls(self, node: str) -> dict[str, str]:
        assert self._authority is not None
        keystore = self._home / f"{node}.pem"
        if not keystore.exists():
            certificate, key = self._authority.issue(BROKERS, HOSTS)
            write_secret(keystore, key + certificate)
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keystore),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority.certificate),
            "ssl.client.auth": "none" if self.sasl else "required",
        }

    def store_users(self, zookeeper: str) -> None:
        """Write the credentials of all users to ZooKeeper, before the brokers start."""
        if not self.sasl:
            return
        client = KazooClient(zookeeper)
        client.start()
        try:
            for name, password in self._passwords.items():
                config = {
                    mechanism: ScramCredential.make(mechanism, password).text()
                    for mechanism in HASHES
                }
                self._store(client, znodes.config_path("users", znode_name(name)), config)
        finally:
            client.stop()
            client.close()

    def _store(self, client: KazooClient, path: str, config: Mapping[str, str]) -> None:
        """What else was set for the user, such as quotas, stays."""
        try:
            client.create(path, znodes.encode_config(config), makepath=True)
        except NodeExistsError:
            data, _ = client.get(path)
            client.set(path, znodes.encode_config({**znodes.decode_config(data), **config}))

    # -- clients ---------------------------------------------------------------------------

    def settings(self, user: str = BROKERS, mechanism: str | None = None) -> dict[str, str]:
        """What a client of a user needs, beside the address, in librdkafka's keys."""
        mechanism = mechanism or self._mechanisms.standard
        if self.sasl and self._has_controllers and mechanism != PLAIN:
            raise invalid_config(f"{mechanism}: {NO_CREDENTIALS}")
        if user not in self._passwords:
            known = ", ".join(self.users)
            raise invalid_config(f"there is no user {user!r}, only {known}")
        values = {"security.protocol": self.protocol}
        if self._authority is not None:
            certificate, key = self._certificate(user)
            values["ssl.ca.location"] = str(self._authority.certificate)
            values["ssl.certificate.location"] = str(certificate)
            values["ssl.key.location"] = str(key)
        if self.sasl:
            values["sasl.mechanism"] = mechanism
            values["sasl.username"] = user
            values["sasl.password"] = self._passwords[user]
        return values

    def _certificate(self, user: str) -> tuple[Path, Path]:
        assert self._authority is not None
        directory = self._home if user == BROKERS else self._clients
        certificate, key = directory / f"{user}.pem", directory / f"{user}.key"
        if not key.exists():
            texts = self._authority.issue(user)
            certificate.write_text(texts[0])
            write_secret(key, texts[1])
        return certificate, key

    def write_addresses(self, bootstrap: str) -> None:
        """The ports are known: the clients' files get the address of the cluster."""
        for name in self.users:
            self._write_client(name, bootstrap)

    def _write_client(self, user: str, bootstrap: str = "") -> None:
        address = {"bootstrap.servers": bootstrap} if bootstrap else {}
        plain = properties_text({**address, **self.settings(user)}, escapes=False)
        write_secret(self._clients / f"{user}.properties", plain)
        self.write(self._clients / f"{user}.java.properties", {**address, **self._java(user)})

    def _java(self, user: str) -> dict[str, str]:
        values = {"security.protocol": self.protocol}
        if self._authority is not None:
            certificate, key = self._certificate(user)
            values["ssl.truststore.type"] = "PEM"
            values["ssl.truststore.location"] = str(self._authority.certificate)
            values |= _keystore(key.read_text(), certificate.read_text())
        if self.sasl:
            mechanism = self._mechanisms.standard
            values["sasl.mechanism"] = mechanism
            values["sasl.jaas.config"] = jaas.line(mechanism, user, self._passwords[user])
        return values


def _keystore(key: str, certificate: str) -> dict[str, str]:
    """As text: Kafka takes a PEM file as a keystore only if its key has a password."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": key,
        "ssl.keystore.certificate.chain": certificate,
    }
