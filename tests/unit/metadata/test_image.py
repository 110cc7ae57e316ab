"""The image of the metadata: what records make of it, and the snapshot that makes it again."""

from uuid import UUID, uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ApiException
from engine.metadata.delta import EVERY_BROKER
from engine.metadata.image import MetadataImage
from engine.metadata.records import brokers, security, topics
from engine.metadata.records.framing import decode_record, encode_record
from engine.model import TopicPartition
from engine.quotas.entity import DEFAULT, ClientQuotaEntity

INCARNATION = UUID(int=99)
ORDERS = UUID(int=1000)


def register(id=1, epoch=5, fenced=True):
    endpoint = brokers.RecordEndpoint(name="A", host="h", port=9092, security_protocol=0)
    feature = brokers.RecordFeature(
        name="metadata.version", min_supported_version=1, max_supported_version=7
    )
    return brokers.RegisterBrokerRecord(
        broker_id=id,
        incarnation_id=INCARNATION,
        broker_epoch=epoch,
        end_points=(endpoint,),
        features=(feature,),
        rack=None,
        fenced=fenced,
    )


def change(id=1, epoch=5, **changed):
    return brokers.BrokerRegistrationChangeRecord(broker_id=id, broker_epoch=epoch, **changed)


def partition(index=0, id=ORDERS, replicas=(1, 2, 3)):
    return topics.PartitionRecord(
        partition_id=index,
        topic_id=id,
        replicas=replicas,
        isr=replicas,
        removing_replicas=(),
        adding_replicas=(),
        leader=replicas[0],
        leader_epoch=0,
        partition_epoch=0,
    )


def config(value, kind=2, name="orders"):
    return security.ConfigRecord(
        resource_type=kind, resource_name=name, name="retention.ms", value=value
    )


def quota(value, remove=False, user="alice"):
    entity = security.QuotaEntityData(entity_type="user", entity_name=user)
    return security.ClientQuotaRecord(
        entity=(entity,), key="producer_byte_rate", value=value, remove=remove
    )


def acl(id, name="orders"):
    return security.AccessControlEntryRecord(
        id=id,
        resource_type=2,
        resource_name=name,
        pattern_type=3,
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
    )


def credential(user="alice"):
    return security.UserScramCredentialRecord(
        name=user, mechanism=1, salt=b"s", stored_key=b"k", server_key=b"v", iterations=4096
    )


def image(*records):
    made = MetadataImage()
    for record in records:
        made.replay(record)
    return made


def topic_records(name="orders", id=ORDERS):
    return topics.TopicRecord(name=name, topic_id=id), partition(id=id)


def test_a_broker_is_registered_unfenced_shut_down_and_unregistered():
    made = image(register())
    assert (made.brokers[1].fenced, made.brokers[1].epoch) == (True, 5)
    made.replay(change(fenced=-1))
    assert made.brokers[1].is_active
    made.replay(change(in_controlled_shutdown=1))
    assert not made.brokers[1].fenced and not made.brokers[1].is_active
    made.replay(change(fenced=1))
    assert made.brokers[1].fenced and made.brokers[1].in_controlled_shutdown
    made.replay(register(epoch=9))
    assert not made.brokers[1].in_controlled_shutdown
    made.replay(brokers.UnregisterBrokerRecord(broker_id=1, broker_epoch=9))
    assert made.brokers == {} and made.take_changes().brokers == {1}


def test_below_level_6_a_broker_is_unfenced_and_fenced_by_records_of_their_own():
    made = image(register(), brokers.UnfenceBrokerRecord(id=1, epoch=5))
    assert made.brokers[1].is_active
    made.replay(brokers.FenceBrokerRecord(id=1, epoch=5))
    assert made.brokers[1].fenced


def test_a_leader_epoch_begins_where_a_change_names_a_leader_though_it_is_the_same_one():
    def changed(**fields):
        return topics.PartitionChangeRecord(partition_id=0, topic_id=ORDERS, **fields)

    made = image(*topic_records(), changed(isr=(1, 2)))
    found = made.topics["orders"].partitions[0]
    assert (found.leader, found.leader_epoch, found.isr, found.version) == (1, 0, (1, 2), 1)
    made.replay(changed(isr=(1,), leader=1))
    found = made.topics["orders"].partitions[0]
    assert (found.leader, found.leader_epoch, found.isr, found.version) == (1, 1, (1,), 2)
    made.replay(changed(leader=-1))
    assert made.partition(TopicPartition("orders", 0))._replace(version=0) == found._replace(
        leader=-1, leader_epoch=2, version=0
    )
    made.replay(changed(replicas=(1, 2, 4), adding_replicas=(4,), removing_replicas=(3,)))
    found = made.topics["orders"].partitions[0]
    assert (found.replicas, found.adding, found.removing) == ((1, 2, 4), (4,), (3,))
    made.replay(changed(adding_replicas=(), leader_recovery_state=1))
    found = made.topics["orders"].partitions[0]
    assert (found.adding, found.removing, found.leader_recovery_state) == ((), (3,), 1)


def test_a_topic_that_is_deleted_takes_its_configuration_with_it():
    made = image(*topic_records(), config("1000"))
    made.take_changes()
    made.replay(topics.RemoveTopicRecord(topic_id=ORDERS))
    assert made == MetadataImage()
    changes = made.take_changes()
    assert changes.configs == {("topics", "orders")} and changes.partitions == set()
    assert list(changes.removed_topics[ORDERS].partitions) == [0]


def test_a_topic_that_is_deleted_and_made_again_is_in_both_parts_of_the_changes():
    made = image(*topic_records())
    again = UUID(int=1001)
    made.replay(topics.RemoveTopicRecord(topic_id=ORDERS))
    for record in topic_records(id=again):
        made.replay(record)
    changes = made.take_changes()
    assert set(changes.removed_topics) == {ORDERS}
    assert changes.partitions == {TopicPartition("orders", 0)}
    assert made.topic(again).name == "orders" and made.topic(ORDERS) is None


def test_a_null_value_takes_a_setting_back():
    made = image(config("5"), config("7", kind=4, name=""), config("8", kind=4, name="2"))
    assert made.configs == {
        ("topics", "orders"): {"retention.ms": "5"},
        ("brokers", EVERY_BROKER): {"retention.ms": "7"},
        ("brokers", "2"): {"retention.ms": "8"},
    }
    made.replay(config(None))
    assert ("topics", "orders") not in made.configs


@pytest.mark.parametrize(("kind", "name"), [(16, "client-metrics"), (32, "groups")])
def test_configurations_of_later_releases_are_kept(kind, name):
    """A controller of Kafka 3.9 or 4 writes them, below all levels that would tell of them."""
    made = image(config("5", kind=kind, name="A"))
    assert made.configs == {(name, "A"): {"retention.ms": "5"}}
    assert config("5", kind=kind, name="A") in made.records()


def test_quotas_acls_and_credentials_are_set_and_taken_back():
    one = UUID(int=1)
    made = image(quota(5.0), quota(7.0, user=None), acl(one), credential())
    assert made.quotas[ClientQuotaEntity(DEFAULT)] == {"producer_byte_rate": 7.0}
    assert made.entries(made.acls[one].resource) == {made.acls[one].entry}
    assert made.credentials["alice"]["SCRAM-SHA-256"].endswith("iterations=4096")
    for record in (
        quota(0.0, remove=True),
        quota(0.0, remove=True, user=None),
        security.RemoveAccessControlEntryRecord(id=one),
        security.RemoveUserScramCredentialRecord(name="alice", mechanism=1),
    ):
        made.replay(record)
    assert made == MetadataImage()


@pytest.mark.parametrize(
    "record",
    [
        change(),
        partition(),
        topics.PartitionChangeRecord(partition_id=0, topic_id=ORDERS, leader=1),
        topics.RemoveTopicRecord(topic_id=ORDERS),
        brokers.UnregisterBrokerRecord(broker_id=1, broker_epoch=5),
        security.RemoveAccessControlEntryRecord(id=ORDERS),
        config("1", kind=3),
        brokers.BeginTransactionRecord(),
    ],
    ids=lambda record: type(record).__name__,
)
def test_a_record_that_makes_no_sense_is_an_error_and_changes_nothing(record):
    made = MetadataImage()
    with pytest.raises(ApiException):
        made.replay(record)
    assert made == MetadataImage()


def test_an_old_registration_a_known_topic_and_used_producer_ids_are_refused():
    ids = brokers.ProducerIdsRecord(broker_id=1, next_producer_id=2000)
    made = image(register(), *topic_records(), partition(1), ids)
    old = brokers.ProducerIdsRecord(broker_id=1, next_producer_id=1000)
    wrong = topics.PartitionChangeRecord(partition_id=9, topic_id=ORDERS, leader=1)
    for record in (change(epoch=4), topic_records()[0], old, wrong):
        with pytest.raises(ApiException):
            made.replay(record)


IDS = st.integers(1, 4)
ROUND_TRIPS = st.one_of(
    st.builds(register, IDS, st.integers(0, 9), st.booleans()),
    st.builds(lambda id, epoch, state: change(id, epoch, fenced=state, in_controlled_shutdown=1),
              IDS, st.integers(0, 9), st.sampled_from([-1, 0, 1])),
    st.builds(lambda id: topics.TopicRecord(name=f"t{id}", topic_id=UUID(int=id)), IDS),
    st.builds(lambda id, index: partition(index, UUID(int=id)), IDS, IDS),
    st.builds(lambda id, index, leader, state: topics.PartitionChangeRecord(
        partition_id=index, topic_id=UUID(int=id), isr=(leader,), leader=leader,
        adding_replicas=(4,), leader_recovery_state=state), IDS, IDS, IDS, st.integers(-1, 1)),
    st.builds(lambda id: topics.RemoveTopicRecord(topic_id=UUID(int=id)), IDS),
    st.builds(lambda id, value: config(value, name=f"t{id}"), IDS, st.none() | st.text()),
    st.builds(lambda value: config(value, kind=4, name=""), st.none() | st.text()),
    st.builds(quota, st.floats(0, 9), st.booleans(), st.sampled_from(["a", None])),
    st.builds(lambda id, name: acl(uuid5(ORDERS, str(id)), name), IDS, st.text()),
    st.builds(credential, st.text(min_size=1)),
    st.builds(lambda id: brokers.ProducerIdsRecord(broker_id=1, next_producer_id=id * 1000), IDS),
    st.builds(lambda id: brokers.FeatureLevelRecord(name="f", feature_level=id - 1), IDS),
)  # fmt: skip


@given(st.lists(ROUND_TRIPS, max_size=40))
@settings(max_examples=150, deadline=None)
def test_the_snapshot_of_an_image_makes_an_equal_one(records):
    """The records may be bytes meanwhile. A copy of an image is equal, and changes alone."""
    made = MetadataImage()
    for record in records:
        before = made.copy()
        try:
            made.replay(record)
        except ApiException:
            assert made == before
    snapshot = [decode_record(encode_record(record), 0).record for record in made.records()]
    again = image(*snapshot)
    assert again == made == made.copy()
    other = made.copy()
    other.replay(brokers.FeatureLevelRecord(name="other", feature_level=1))
    assert other != made and list(made.records()) == list(again.records())
