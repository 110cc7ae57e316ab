"""A secured cluster: certificates, users, and the settings of brokers and clients.

    DIR/security/ca.pem, ca.key       the authority (authority.py)
    DIR/security/broker-N.properties  what broker N is started with beside its command line
    DIR/security/passwords.json       of the users, and of the brokers' own one
    DIR/clients/alice.properties      what a client of alice needs, in librdkafka's keys
    DIR/clients/alice.java.properties ... and in Java's

The brokers log in to each other as a user of their own, by SCRAM-SHA-512. Its credential and those
of the users are in ZooKeeper before the first broker starts, as `kafka-configs --zookeeper` would
write them. With SASL all three mechanisms are open to all users.

Invariant: passwords and private keys are in files that only their owner can read (0600), and on no
command line, where every user of the machine could see them.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError

from engine.cluster.security.authority import HOSTS, CertificateAuthority, write_secret
from engine.config.listeners import PROTOCOLS
from engine.config.properties import properties_text
from engine.errors import invalid_config
from engine.security import jaas
from engine.security.principals import znode_name
from engine.security.scram import HASHES, ScramCredential
from engine.zookeeper import znodes

BROKERS = "broker"  # the name of the brokers' own user
BETWEEN = "SCRAM-SHA-512"  # the mechanism between brokers
MECHANISMS = ("PLAIN", *HASHES)
CERTIFICATE = "-----BEGIN CERTIFICATE-----"
STANDARD = "SCRAM-SHA-256"  # of clients, unless they choose another one


class ClusterSecurity:
    def __init__(self, data: Path, protocol: str, users: Mapping[str, str]) -> None:
        if protocol not in PROTOCOLS[1:]:
            names = ", ".join(PROTOCOLS)
            raise invalid_config(f"{protocol!r} is none of {names}")
        for name, password in users.items():
            if not name or not password or not name.isprintable() or "/" in name:
                raise invalid_config(f"{name!r} is no name with a password")
        if BROKERS in users:
            raise invalid_config(f"{BROKERS} is the brokers' own user")
        self.protocol = protocol
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
        """The same for a broker of Apache Kafka."""
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
            values |= self._tls(broker)
        if self.sasl:
            values["sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
            values["sasl.mechanism.inter.broker.protocol"] = BETWEEN
            own = self._passwords[BROKERS]
            for mechanism in MECHANISMS:
                users = self._passwords if mechanism == "PLAIN" else {}
                key = f"listener.name.{name.lower()}.{mechanism.lower()}.sasl.jaas.config"
                values[key] = jaas.line(mechanism, BROKERS, own, users)
        return values

    def _tls(self, broker: int) -> dict[str, str]:
        assert self._authority is not None
        keystore = self._home / f"broker-{broker}.pem"
        if not keystore.exists():
            certificate, key = self._authority.issue(BROKERS, HOSTS)
            write_secret(keystore, key + certificate)
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keystore),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._authority.certificate),
            "ssl.client.auth": "requested" if self.sasl else "required",
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

    def settings(self, user: str = BROKERS, mechanism: str = STANDARD) -> dict[str, str]:
        """What a client of a user needs, beside the address, in librdkafka's keys."""
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
            values["sasl.mechanism"] = STANDARD
            values["sasl.jaas.config"] = jaas.line(STANDARD, user, self._passwords[user])
        return values


def _keystore(key: str, certificate: str) -> dict[str, str]:
    """As text: Kafka takes a PEM file as a keystore only if its key has a password."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": key,
        "ssl.keystore.certificate.chain": certificate,
    }
