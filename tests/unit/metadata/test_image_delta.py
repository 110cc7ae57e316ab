"""What a broker is told when the image of the metadata has changed."""

from uuid import UUID

from engine.metadata.image import MetadataImage
from engine.metadata.image_delta import ImageDelta
from engine.metadata.records import topics
from engine.model import TopicPartition
from tests.unit.metadata.test_image import change, config, partition, register

ORDERS, AGAIN = UUID(int=1000), UUID(int=1001)
ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Told:
    """An image, and the deltas for broker 1."""

    def __init__(self, *records):
        self.image, self.deltas = MetadataImage(), ImageDelta(1)
        for record in records:
            self.image.replay(record)
        self.first = self.deltas.first(self.image)
        self.image.take_changes()

    def replay(self, *records):
        for record in records:
            self.image.replay(record)
        return list(self.deltas.next(self.image, self.image.take_changes()))


def topic(id=ORDERS, name="orders"):
    return topics.TopicRecord(name=name, topic_id=id)


def changed(**values):
    return topics.PartitionChangeRecord(partition_id=0, topic_id=ORDERS, **values)


def test_the_first_delta_has_everything_and_no_replica_is_new():
    """A log that a new broker process does not find may be on a disk that has failed."""
    told = Told(
        register(fenced=False), register(2, 6), topic(), partition(), partition(1, ORDERS, (2, 3))
    )
    delta = told.first
    assert [broker.id for broker in delta.brokers] == [1]
    assert delta.ineligible == {2}
    assert delta.controller == 1
    assert [each.partition for each in delta.partitions] == [ZERO, ONE]
    ((_, id, now),) = delta.roles
    assert (id, now.leader, now.is_new) == (ORDERS, 1, False)


def test_a_new_topic_is_led_and_its_replica_is_new():
    (delta,) = Told(register(fenced=False)).replay(topic(), partition(), config("7"))
    assert [each.now.is_new for each in delta.roles] == [True]
    assert delta.configs == {("topics", "orders"): {"retention.ms": "7"}}
    assert delta.brokers is None


def test_a_configuration_that_is_set_again_is_told_again():
    """A broker reads its certificate again when the path of the file is set, also to the same
    path."""
    own = config("7", kind=4, name="1")
    (delta,) = Told(own).replay(own)
    assert delta.configs == {("brokers", "1"): {"retention.ms": "7"}}


def test_another_isr_in_the_same_leader_epoch_is_an_update():
    told = Told(topic(), partition())
    (delta,) = told.replay(changed(isr=(1, 2)))
    assert ([each.now.isr for each in delta.updates], delta.roles) == ([(1, 2)], [])
    (delta,) = told.replay(changed(isr=(1, 2, 3), leader=1))
    assert ([each.now.leader_epoch for each in delta.roles], delta.updates) == ([1], [])


def test_a_replica_that_moves_away_is_deleted_once():
    told = Told(topic(), partition())
    (delta,) = told.replay(changed(replicas=(2, 3), isr=(2, 3), leader=2))
    assert [tuple(stop) for stop in delta.stops] == [(ZERO, None, True)]
    (delta,) = told.replay(changed(isr=(2,)))
    assert (delta.roles, delta.updates, delta.stops) == ([], [], [])


def test_a_topic_that_is_made_anew_in_one_batch_is_deleted_first():
    told = Told(topic(), partition(), config("7"))
    remove = topics.RemoveTopicRecord(topic_id=ORDERS)
    gone, made = told.replay(remove, topic(AGAIN), partition(0, AGAIN))
    assert [tuple(stop) for stop in gone.stops] == [(ZERO, None, True)]
    assert [(each.topic_id, each.now) for each in gone.partitions] == [(ORDERS, None)]
    assert [each.topic_id for each in made.roles] == [AGAIN]
    assert made.configs == {("topics", "orders"): None}


def test_a_fenced_broker_is_not_among_the_live_ones():
    told = Told(register(fenced=False), register(2, 6, fenced=False))
    (delta,) = told.replay(change(1, 5, fenced=1))
    assert ([broker.id for broker in delta.brokers], delta.controller) == ([2], 2)
    (delta,) = told.replay(change(2, 6, fenced=1))
    assert (delta.brokers, delta.controller) == ([], -1)


def test_records_that_change_nothing_here_make_no_delta():
    assert Told(topic(), partition()).replay() == []
