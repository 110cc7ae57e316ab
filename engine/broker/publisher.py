"""Applies a MetadataDelta to all parts of a broker."""

from dataclasses import dataclass

from engine.broker.config_cache import ConfigCache
from engine.broker.coordinator_service import GroupService, TransactionService
from engine.broker.metadata import Metadata
from engine.broker.purgatory import Purgatory
from engine.broker.secure_listeners import SecureListeners
from engine.errors import ErrorCode
from engine.metadata.delta import MetadataDelta
from engine.metadata.lifecycle import BrokerLifecycle, LifecycleStep
from engine.quotas.quota_managers import QuotaManagers
from engine.replication.replica_manager import ReplicaManager
from engine.security.authorizer import AclAuthorizer


@dataclass(frozen=True)
class MetadataPublisher:
    lifecycle: BrokerLifecycle
    metadata: Metadata
    replicas: ReplicaManager
    purgatory: Purgatory
    groups: GroupService
    transactions: TransactionService
    configs: ConfigCache
    listeners: SecureListeners
    quotas: QuotaManagers
    authorizer: AclAuthorizer | None

    def apply(self, delta: MetadataDelta) -> list[ErrorCode]:
        """Returns the error of each role, then of each stop.

        Raises an ApiException, and applies nothing, if the delta is from an old controller, or for
        an earlier registration of this broker.
        """
        errors: list[ErrorCode] = []
        if delta.roles or delta.stops or delta.updates or delta.ineligible is not None:
            errors = self.replicas.apply(delta)
        else:
            self.replicas.check_controller(delta)
        if delta.partitions or delta.brokers is not None or delta.controller is not None:
            self._apply_metadata(delta)
        if delta.configs:
            self._apply_configs(delta)
        elif delta.credentials is not None:
            self.configs.apply(delta)
        if delta.quotas is not None:
            self.quotas.configure(delta.quotas)
        if self.authorizer is not None:
            for resource, entries in delta.acls.items():
                self.authorizer.update(resource, entries)
        return errors

    def _apply_metadata(self, delta: MetadataDelta) -> None:
        self.metadata.apply(delta)
        if delta.brokers is not None:
            self.purgatory.wake_all()
        if delta.controller is not None:
            self.lifecycle.take(LifecycleStep.KNOWN)
        deleted = [each.partition for each in delta.partitions if each.now is None]
        if deleted:
            self.groups.forget(deleted)
        gone = {each.topic for each in deleted}
        self.configs.forget(gone - self.metadata.topics.keys())

    def _apply_configs(self, delta: MetadataDelta) -> None:
        """Pass them to each part that uses them."""
        self.configs.apply(delta)
        config = self.configs.broker_config
        self.replicas.reconfigure(self.configs.topic_config, config)
        self.groups.configure(config)
        self.transactions.configure(config)
        if any(kind == "brokers" for kind, _ in delta.configs):
            self.listeners.configure(config)
