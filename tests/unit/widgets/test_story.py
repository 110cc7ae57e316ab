"""Events become lines that a learner can read, and spans without service."""

import pytest

from engine.model import TopicPartition
from tests.unit.widgets.cluster import START, event
from widgets.story import Story

ORDERS = TopicPartition("orders", 0)


def told(*events):
    story = Story()
    story.add(events)
    return story


def leads(at, broker, epoch=0, topic="orders", partition=0):
    where = {"topic": topic, "partition": partition}
    return event(
        "replica.role", at, broker, **where, role="leader", leader=broker, leader_epoch=epoch
    )


def elected(
    at, leader, epoch, *, was=-1, topic="orders", partition=0, reason="offline", clean=True
):
    where = {"topic": topic, "partition": partition, "leader": leader, "leader_epoch": epoch}
    more = {"was": was, "isr": [leader], "reason": reason, "clean": clean}
    return event("leader.elected", at, 1, **where, **more)


@pytest.mark.parametrize(
    ("happened", "words"),
    [
        (event("broker.started", broker=1, pid=41), "broker 1 started, pid 41"),
        (event("zookeeper.killed", server=2), "zookeeper-2 killed (SIGKILL)"),
        (event("zookeeper.died", server=2, reason="{?}"), "zookeeper-2 died: {?}"),
        (event("zookeeper.started", server=2, pid=41), "zookeeper-2 started, pid 41"),
        (event("zookeeper.leader", server=3, epoch=2), "zookeeper-3 leads the ensemble, epoch 2"),
        (event("zookeeper.leaderless", looking=[1]), "ZooKeeper has no leader: nothing is elected"),
        (event("broker.killed", broker=2), "broker 2 killed (SIGKILL)"),
        (event("broker.died", broker=2, reason="disk {full}"), "broker 2 died: disk {full}"),
        (event("broker.paused", broker=3), "broker 3 paused (SIGSTOP)"),
        (event("broker.resumed", broker=3), "broker 3 goes on"),
        (event("broker.stopped", broker=3, code=0), "broker 3 stopped in good order"),
        (event("broker.down", broker=3), "broker 3 is gone from ZooKeeper"),
        (event("controller.elected", broker=1, epoch=7), "broker 1 is controller, epoch 7"),
        (event("link.cut", one=1, other="zookeeper", both=True), "link 1 – ZooKeeper cut"),
        (event("link.slowed", one=1, other=2, ms=300), "link 1 – 2 slowed by 300 ms"),
        (event("link.healed"), "every link is whole again"),
        (event("link.healed", one=1, other="zookeeper"), "link 1 – ZooKeeper is whole again"),
        (
            event("requests.failing", broker=1, api="PRODUCE", error="NOT_COORDINATOR", times=2),
            "broker 1 is to answer the next 2 requests of Produce with NOT_COORDINATOR",
        ),
        (
            event("requests.failing", broker=1, api="END_TXN", error="NOT_COORDINATOR", times=0),
            "broker 1 serves EndTxn again",
        ),
        (
            event("request.failed", 0, 2, api="PRODUCE", error="NOT_COORDINATOR", client="c"),
            "answered with an error: Produce at broker 2: NOT_COORDINATOR",
        ),
        (
            event("answer.dropping", broker=1, api=None),
            "the next answer is to be lost: any request at broker 1",
        ),
        (
            event("answer.dropped", 0, 2, api="PRODUCE", client="c"),
            "done, and the answer was lost: Produce at broker 2",
        ),
        (event("coordinator.slowed", broker=1, ms=300), "broker 1 coordinates 300 ms late"),
        (event("coordinator.slowed", broker=1, ms=0), "broker 1 coordinates without delay"),
        (event("requests.healed", broker=1), "broker 1 answers clients as usual"),
        (event("topic.created", topic="orders"), "topic orders created"),
        (
            event("znode.written", path="/controller"),
            "somebody wrote nonsense to /controller in ZooKeeper",
        ),
        (
            event("znode.unreadable", broker=1, path="/controller", why="?", harm="?"),
            "nobody can read /controller in ZooKeeper",
        ),
        (
            event("config.ignored", broker=1, path="/config/topics/t", key="a.b", why="?"),
            "a broker ignores a.b in a configuration",
        ),
        (elected(0, 3, 4), "new leader: orders-0 nobody → 3, epoch 4"),
        (elected(0, -1, 4), "new leader: orders-0 nobody → nobody, epoch 4"),
        (
            event("isr.changed", topic="orders", partition=1, was=[3, 1, 2], isr=[3, 1]),
            "in sync: orders-1 [1 2 3] → [1 3]",
        ),
        (
            event("reassignment.began", topic="orders", partition=1, adding=[4], removing=[2, 3]),
            "partition moves: orders-1 from 2, 3 to 4",
        ),
        (
            event("reassignment.done", topic="orders", partition=1, replicas=[1, 4]),
            "the move is done: orders-1 is on 1, 4",
        ),
        (
            event("log.truncated", broker=1, topic="orders", partition=1, was=9, end_offset=7),
            "log cut back to the leader's: orders-1 9 → 7",
        ),
    ],
    ids=lambda it: getattr(it, "kind", ""),
)
def test_each_kind_has_its_words(happened, words):
    assert [line.words for line in told(happened).lines] == [words]


def test_an_unclean_election_is_a_warning():
    (line,) = told(elected(0, 3, 4, clean=False)).lines
    assert line.words.startswith("UNCLEAN election, records may be lost: orders-0")


def test_what_the_controller_does_at_once_is_one_line():
    story = told(*(elected(each, 3, 4, partition=each) for each in range(30)))
    (line,) = story.lines
    assert line.words.endswith("and 27 more")
    assert line.short == "election ×30"


def test_what_happens_later_is_another_line():
    assert len(told(elected(0, 3, 4), elected(5000, 2, 5)).lines) == 2


def test_a_source_that_reports_late_has_its_line_where_its_time_is():
    """A topic was created before a kill; the controller's event comes after that of the kill."""
    late = told(event("broker.killed", 760, broker=2), event("topic.created", 710, topic="teas"))
    assert [line.kind for line in late.lines] == ["topic.created", "broker.killed"]
    joined = told(
        event("broker.killed", 760, broker=2),
        event("topic.created", 800, topic="teas"),
        event("topic.created", 710, topic="cups"),
    )
    assert [line.words for line in joined.lines] == [
        "topic teas, cups created",
        "broker 2 killed (SIGKILL)",
    ]
    assert [line.at - START for line in joined.lines] == [710, 760]


def test_a_change_of_the_isr_that_every_replica_tells_is_one_line():
    """Without ZooKeeper each replica tells of it; a topic that is created again begins anew."""
    facts = {"topic": "orders", "partition": 0, "was": [2], "isr": [1, 2], "version": 1}
    changes = [event("isr.changed", 40 * broker, broker, **facts) for broker in (1, 2)]
    (line,) = told(*changes).lines
    assert line.words == "in sync: orders-0 [2] → [1 2]"
    again = told(*changes, event("topic.created", 900, topic="orders"), changes[0])
    assert len(again.lines) == 2 and again.lines[0].words.count("orders-0") == 2


def test_topics_of_kafkas_own_make_no_lines():
    name = "__consumer_offsets"
    assert told(event("topic.created", topic=name), elected(0, 1, 1, topic=name)).lines == []


def changed(at: int, state: str, epoch: int):
    facts = {"id": "till", "producer": 7, "partitions": [], "was": "?"}
    return event("transaction.changed", at, **facts, state=state, epoch=epoch)


def test_a_transaction_that_the_coordinator_aborts_is_news_and_no_other_is():
    own = told(changed(0, "Ongoing", 3), changed(9, "PrepareAbort", 3), changed(10, "Ongoing", 3))
    assert own.lines == []
    late = told(changed(0, "Ongoing", 3), changed(9, "PrepareAbort", 4), changed(9, "Empty", 4))
    (line,) = late.lines
    assert (
        line.words == "an open transaction is aborted, and its producer fenced: till, epoch 3 → 4"
    )
    assert told(changed(0, "PrepareAbort", 4)).lines == [], "what was before is not known"


def test_the_first_leaders_of_a_topic_are_no_news():
    assert told(elected(0, 1, 0, reason="new")).lines == []


def test_a_broker_that_is_known_to_be_dead_does_not_die_again():
    story = told(event("broker.killed", broker=2), event("broker.died", 5, broker=2, reason="x"))
    assert [line.kind for line in story.lines] == ["broker.killed"]


def test_an_outage_lasts_from_the_kill_until_every_partition_is_served_again():
    story = told(
        leads(0, 2),
        leads(0, 2, partition=1),
        leads(0, 1, partition=2),
        event("controller.elected", 1, 1, broker=1, epoch=1),
        event("broker.killed", 100, broker=2),
        event("broker.down", 2100, 1, broker=2),
        leads(2150, 3, epoch=1),
    )
    (outage,) = story.outages
    assert outage.partitions == (ORDERS, TopicPartition("orders", 1))
    assert (outage.began, outage.expired) == (START + 100, START + 2100)
    assert outage.ended is None

    story.add([leads(2170, 1, epoch=1, partition=1)])

    assert outage.ended == START + 2170


def test_a_dead_controllers_session_is_over_when_the_next_takes_office():
    story = told(
        leads(0, 2),
        event("controller.elected", 0, 2, broker=2, epoch=1),
        event("broker.killed", 100, broker=2),
        event("controller.elected", 1900, 1, broker=1, epoch=2),
    )
    assert story.outages[0].expired == START + 1900


def test_who_led_nothing_leaves_no_gap():
    assert told(leads(0, 1), event("broker.killed", 9, broker=2)).outages == []


def test_a_short_pause_ends_when_the_leader_goes_on():
    story = told(
        leads(0, 2), event("broker.paused", 100, broker=2), event("broker.resumed", 900, broker=2)
    )
    assert story.outages[0].ended == START + 900


def test_a_leader_that_wakes_after_the_election_does_not_end_the_outage_again():
    story = told(
        leads(0, 2),
        event("broker.paused", 100, broker=2),
        leads(2000, 3, epoch=1),
        event("broker.resumed", 5000, broker=2),
    )
    assert story.outages[0].ended == START + 2000


def test_who_is_killed_while_paused_is_as_absent_as_before():
    story = told(
        leads(0, 2), event("broker.paused", 100, broker=2), event("broker.killed", 200, broker=2)
    )
    (outage,) = story.outages
    assert (outage.began, outage.cause) == (START + 100, "killed")


def test_an_old_story_does_not_make_a_leader():
    story = told(leads(0, 3, epoch=5), leads(1, 2, epoch=4))
    assert story.leader(ORDERS) == 3


def test_the_last_word_about_a_broker():
    story = told(event("broker.started", 0, broker=2, pid=1), event("broker.killed", 50, broker=2))
    assert story.last_word(2, START + 20).kind == "broker.started"
    assert story.last_word(2, START + 60).kind == "broker.killed"
    assert story.last_word(1, START + 60) is None


def test_the_new_leader_may_report_before_the_controller():
    """Each broker reports by itself: who led before is who led in the epoch before."""
    story = told(leads(0, 1), leads(5, 2, epoch=1), elected(6, 2, 1))
    assert story.lines[-1].words == "new leader: orders-0 1 → 2, epoch 1"
    story.add([elected(9, 3, 2), leads(10, 3, epoch=2)])
    assert story.lines[-1].words == "new leader: orders-0 1 → 2, epoch 1, orders-0 2 → 3, epoch 2"
