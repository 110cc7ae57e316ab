"""Applies a MetadataDelta to all parts of a broker."""

from engine.broker.broker import Broker
from engine.errors import ErrorCode
from engine.metadata.delta import MetadataDelta
from engine.metadata.lifecycle import LifecycleStep


def apply(broker: Broker, delta: MetadataDelta) -> list[ErrorCode]:
    """Returns the error of each role, then of each stop.

    Raises an ApiException, and applies nothing, if the delta is from an old controller, or for an
    earlier registration of this broker.
    """
    errors: list[ErrorCode] = []
    if delta.roles or delta.stops:
        errors = broker.replicas.apply(delta)
    else:
        broker.replicas.check_controller(delta)
    if delta.partitions or delta.brokers is not None or delta.controller is not None:
        _apply_metadata(broker, delta)
    if delta.configs:
        _apply_configs(broker, delta)
    elif delta.credentials is not None:
        broker.configs.apply(delta)
    if delta.quotas is not None:
        broker.quotas.configure(delta.quotas)
    if broker.authorizer is not None:
        for resource, entries in delta.acls.items():
            broker.authorizer.update(resource, entries)
    return errors


def _apply_metadata(broker: Broker, delta: MetadataDelta) -> None:
    broker.metadata.apply(delta)
    if delta.controller is not None:
        broker.lifecycle.take(LifecycleStep.KNOWN)
    deleted = [each.partition for each in delta.partitions if each.now is None]
    broker.groups.forget(deleted)
    gone = {each.topic for each in deleted}
    broker.configs.forget(gone - broker.metadata.topics.keys())


def _apply_configs(broker: Broker, delta: MetadataDelta) -> None:
    """Pass them to each part that uses them."""
    broker.configs.apply(delta)
    config = broker.configs.broker_config
    broker.replicas.reconfigure(broker.configs.topic_config, config)
    broker.groups.configure(config)
    broker.transactions.configure(config)
    if any(kind == "brokers" for kind, _ in delta.configs):
        broker.listeners.configure(config)
