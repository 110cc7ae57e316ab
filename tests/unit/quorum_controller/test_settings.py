"""Configurations, quotas, access control lists, features, producer ids, and what time brings."""

from itertools import count
from uuid import UUID

import pytest

from engine.errors import ErrorCode
from engine.metadata.delta import EVERY_BROKER
from engine.metadata.image import MetadataImage
from engine.metadata.records.brokers import NoOpRecord
from engine.quorum_controller import settings_control
from engine.quorum_controller.quorum_controller import FeatureUpdateAsked
from engine.quotas.alteration import Alteration
from engine.quotas.entity import ClientQuotaEntity
from engine.security.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermissionType,
    AclResourceType,
    ResourcePattern,
)
from tests.unit.quorum_controller.controlled import IDLE_MS, Controlled, refused

ALICE = ClientQuotaEntity("alice")
TOPIC = ResourcePattern(AclResourceType.TOPIC, "orders")


def entry(user):
    return AccessControlEntry(f"User:{user}", "*", AclOperation.READ, AclPermissionType.ALLOW)


def test_a_value_longer_than_a_string_of_a_record_is_refused():
    it, alter, longest = Controlled([1]), settings_control.alter_config, "v" * (2**15 - 1)
    it.create(1)
    image = it.image
    assert alter(image, "topics", "orders", {"a": longest}).records
    assert refused(alter, image, "topics", "orders", {"a": longest + "v"}) is (
        ErrorCode.invalid_config
    )


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        ("topics", "orders", ErrorCode.unknown_topic_or_partition),
        ("brokers", "1", ErrorCode.broker_id_not_registered),
    ],
)
def test_nothing_is_configured_that_has_just_gone(kind, name, code):
    """Another request has deleted the topic, or unregistered the broker, and its records are not
    committed yet. A topic that is created with that name afterwards has no configuration."""
    it = Controlled([1])
    it.create(1)
    it.do(it.controller.replication.delete_topic("orders"))
    it.do(it.controller.unregister_broker(1))
    assert refused(settings_control.alter_config, it.image, kind, name, {"a": "1"}) is code


def test_a_configuration_is_replaced_by_the_fewest_records():
    it = Controlled([1])
    it.create(1)

    def alter(**values):
        result = settings_control.alter_config(it.image, "topics", "orders", values)
        it.do(result)
        return len(result.records)

    assert alter(a="1", b="2") == 2
    assert alter(a="1", b="3", c="4") == 2
    assert alter(b="3") == 2
    assert alter(b="3") == 0
    assert it.image.configs == {("topics", "orders"): {"b": "3"}}
    assert alter() == 1 and it.image.configs == {}


def test_a_broker_s_key_is_written_again_though_its_value_is_the_same():
    """An administrator renews a certificate in its file, and sets the same path to have it read
    again: the brokers must get a record (KAFKA-14136)."""
    it, values = Controlled([1]), {"ssl.keystore.location": "/certificates/1.pem"}
    for resource in ("1", EVERY_BROKER):
        for _ in range(2):
            result = settings_control.alter_config(it.image, "brokers", resource, values)
            it.do(result)
            assert len(result.records) == 1
        assert it.image.configs[("brokers", resource)] == values


def test_quotas_of_an_entity_are_altered_all_or_none():
    it = Controlled()

    def alter(*changes):
        it.do(settings_control.alter_quotas(it.image, ALICE, [Alteration(*it) for it in changes]))

    alter(("producer_byte_rate", 1000.0), ("request_percentage", 12.5))
    alter(("producer_byte_rate", None))
    assert it.image.quotas == {ALICE: {"request_percentage": 12.5}}
    bad = ("consumer_byte_rate", 1.0), ("nonsense", 1.0)
    assert refused(alter, *bad) is ErrorCode.invalid_request
    assert it.image.quotas == {ALICE: {"request_percentage": 12.5}}


def test_access_control_entries_have_ids_and_are_removed_by_them():
    it, ids = Controlled(), count(1)

    def alter(changed):
        new_id = lambda: UUID(int=next(ids))  # noqa: E731
        it.do(settings_control.alter_acls(it.image, TOPIC, changed, new_id))

    alter(lambda entries: entries | {entry("alice"), entry("bob")})
    alter(lambda entries: entries | {entry("alice")})
    assert len(it.image.acls) == 2
    alter(lambda entries: entries - {entry("bob")})
    assert it.image.entries(TOPIC) == {entry("alice")}


def update(it, level, upgrade=1, name="metadata.version", validate_only=False):
    asked = [FeatureUpdateAsked(name, level, upgrade)]
    return it.do(it.controller.update_features(asked, validate_only=validate_only))[name]


def test_a_level_is_raised_up_to_what_this_node_knows():
    it = Controlled(level=5)
    assert update(it, 7, validate_only=True) is None and it.image.features["metadata.version"] == 5
    assert update(it, 7) is None and it.image.features == {"metadata.version": 7}
    assert update(it, 7) is None


@pytest.mark.parametrize(
    ("level", "upgrade", "name", "text"),
    [
        (8, 1, "metadata.version", "Local controller 101 only supports versions 1-7"),
        (1, 1, "kraft.version", "does not support this feature"),
        (-1, 1, "metadata.version", "cannot be less than 0"),
        (6, 1, "metadata.version", "without setting the upgrade type"),
        (6, 2, "metadata.version", "might delete metadata information"),
        (6, 3, "metadata.version", "Unsafe metadata downgrade is not supported"),
        (3, 2, "metadata.version", "less than 3.3-IV0"),
        (7, 0, "metadata.version", "does not support the given upgrade type"),
    ],
)
def test_a_level_is_refused(level, upgrade, name, text):
    it = Controlled()
    error = update(it, level, upgrade, name)
    assert error.code is ErrorCode.invalid_update_version and text in error.message
    assert it.image.features == {"metadata.version": 7}


def test_a_level_that_a_broker_cannot_read_is_refused():
    """Also one that is fenced: it may come back."""
    it = Controlled(level=5)
    it.register(1)
    it.register(2, levels=(1, 6))
    error = update(it, 7)
    assert error.code is ErrorCode.invalid_update_version
    assert "Broker 2 does not support the given version. It supports 1 to 6." in error.message
    assert update(it, 6) is None


def test_producer_ids_come_in_blocks_that_nobody_else_gets():
    it = Controlled([1, 2])
    epochs = {id: broker.epoch for id, broker in it.image.brokers.items()}
    allocate = it.controller.allocate_producer_ids
    assert it.do(allocate(1, epochs[1])) == range(1000)
    assert it.do(allocate(2, epochs[2])) == range(1000, 2000)
    assert refused(allocate, 1, 99) is ErrorCode.stale_broker_epoch


def test_a_record_without_meaning_is_written_while_nothing_else_is():
    it = Controlled()
    assert it.controller.deadline() == IDLE_MS
    it.now = IDLE_MS - 1
    assert it.controller.tick(it.now) is None
    it.pass_ms(1)
    assert it.records[-1] == NoOpRecord() and it.controller.deadline() == 2 * IDLE_MS
    assert Controlled(level=4).controller.tick(IDLE_MS) is None
    assert Controlled(metadata_max_idle_interval_ms=0).controller.tick(IDLE_MS) is None


def test_a_later_leader_writes_no_first_records():
    it = Controlled()
    assert it.controller.activation([NoOpRecord()]).records == []
    assert it.image != MetadataImage()
