"""10_kraft: sections in any order, exercises, and what each question finds with other seeds."""

from importlib import import_module as lab

import pytest

from engine.cluster.state import Status
from proof.quorum.simulated_quorum import SimulatedQuorum
from tests.labs.reader import LABS, Reader

LAB = LABS / "10_kraft.ipynb"
SIMULATED = {  # sections that need no cluster: from their first cell to their last
    "election": ("election-predict", "election", "election-outcome", "election-view"),
    "split": (
        *("split-predict", "split", "split-outcome", "split-view"),
        *("exercise-1", "try-1"),
    ),
    "lost": (
        *("lost-predict", "lost", "lost-outcome", "lost-view"),
        *("exercise-2", "try-2"),
    ),
    "timeouts": ("exercise-4", "try-4"),
    "four": ("four-predict", "four", "four-outcome"),
    "back": (
        *("back-predict", "back", "back-outcome", "back-view", "back-pre"),
        *("exercise-3", "exercise-3-view"),
    ),
    "migration": (
        *("migration-predict", "migration", "migration-outcome"),
        *("migration-tree", "migration-log"),
    ),
    "behind": ("behind-predict", "behind", "behind-outcome", "behind-view"),
}


REAL = {
    "format": ("format-predict", "format", "format-outcome", "format-view"),
    "topic": ("topic-predict", "topic-view", "topic", "topic-outcome", "topic-log"),
    "planted": ("exercise-6",),
    "active": ("active-predict", "active-view", "active", "active-outcome"),
    "fenced": ("fenced-predict", "fenced", "fenced-outcome"),
    "twins": ("twins-clusters", "twins-zookeeper", "twins-quorum", "twins"),
    "shrink": ("shrink-predict", "shrink", "shrink-run", "shrink-outcome"),
    "wake": (
        *("wake-predict", "wake", "wake-run", "wake-outcome"),
        *("wake-view", "wake-view-quorum", "wake-verdict"),
    ),
    "minority": ("minority-predict", "minority", "minority-outcome"),
    "disk": ("exercise-5",),
    "level": ("level-predict", "level-tools", "level", "level-outcome", "level-answers"),
}


@pytest.mark.advanced
@pytest.mark.timeout(300)
def test_sections_on_a_real_cluster_run_in_any_order_and_twice(reader: Reader) -> None:
    for section in (*reversed(REAL), *REAL):
        reader.names.clear()
        reader.through(*REAL[section])


def test_sections_stand_alone_in_any_order_and_twice(reader: Reader) -> None:
    reader.check_sections(SIMULATED)


def test_a_guess_is_answered(reader: Reader) -> None:
    reader.run(reader.cell("lost-predict"))
    reader.names["guess"].choose("1 It is in all three logs")
    reader.run(reader.cell("lost"))
    assert reader.run(reader.cell("lost-outcome"))[1].right is False


@pytest.mark.parametrize("number", [1, 2, 4])
def test_the_starter_fails_and_the_answer_passes(reader: Reader, number: int) -> None:
    reader.through(f"exercise-{number}")
    trial = reader.names["trial"]
    assert not trial.passed
    reader.run(reader.cell(f"try-{number}"))
    assert not trial.passed
    name = {1: "up_to_date", 2: "committed", 4: "timeouts"}[number]
    trial.run(getattr(lab("answers.kraft"), name))
    assert trial.passed


def _reached_by_half(ends: list[int], start: int) -> int:
    mark = sorted(ends)[len(ends) // 2]
    return mark if mark > start else 0


def test_wrong_rules_are_refused_with_an_example() -> None:
    exercises = lab("kraft.exercises")
    longer = exercises.up_to_date().run(lambda candidate, own: candidate[0] >= own[0])
    assert "does not get the vote" in repr(longer)
    most = exercises.committed().run(lambda ends, start: max(ends))
    old = exercises.committed().run(lambda ends, start: sorted(ends)[len(ends) // 2])
    assert "the engine's leader says" in repr(most) and "says 0" in repr(old)
    half = exercises.committed().run(_reached_by_half)
    assert "the engine's leader says" in repr(half), "two of four are no majority"
    assert "ZeroDivisionError" in repr(exercises.committed().run(lambda ends, start: 1 / 0))


@pytest.mark.parametrize(
    ("fetch", "election", "backoff", "told"),
    [
        (700, 700, 300, "up to 300 ms, a controller stood for election while the leader lived"),
        (2200, 700, 300, "up to 300 ms, another controller led after 2."),
        (1300, 700, 300, "up to 60 ms, another controller led after 1."),
        (1300, 700, 10, "controller.quorum.election.backoff.max.ms is 10: 50 ms or more"),
    ],
)
def test_timeouts_that_suit_no_network_are_refused(
    fetch: int, election: int, backoff: int, told: str
) -> None:
    trial = lab("kraft.exercises").timeouts()
    given = dict(zip(lab("kraft.exercises").TIMEOUTS, (fetch, election, backoff), strict=True))
    assert told in repr(trial.run(lambda slowest, wait: given))


@pytest.mark.advanced
@pytest.mark.timeout(300)
def test_a_lost_disk_is_made_good_by_the_answer_and_by_the_next_section(reader: Reader) -> None:
    reader.through("exercise-5")
    check, cluster = reader.names["check"], reader.names["cluster"]
    assert not check.check() and "does not run" in check.missing
    lab("answers.kraft").disk_lost(cluster)
    lab("lab").until("all that is committed", check.check)
    reader.through("exercise-5")  # and nobody makes it good
    whole = lab("kraft.shared").cluster()
    assert all(it.status is Status.UP for it in whole.state().controllers.values())


@pytest.mark.advanced
@pytest.mark.timeout(300)
def test_each_mistake_is_refused_in_its_own_way_and_taken_back_by_the_answer(
    reader: Reader,
) -> None:
    reader.through("exercise-6")
    exercises, cluster = lab("kraft.exercises"), reader.names["cluster"]
    heard = []
    for mistake in exercises.MISTAKES:
        topic = exercises.planted(cluster, mistake)
        check = exercises.taken_back(cluster, topic)
        heard.append(check.missing)
        assert not check.check()
        lab("answers.kraft").taken_back(cluster, topic)
        lab("lab").until("a record is stored", check.check)
    errors = ("INVALID_RECORD", "MESSAGE_TOO_LARGE", "NOT_ENOUGH_REPLICAS")
    assert [it.rpartition(" ")[2] for it in heard] == [*errors]


@pytest.mark.advanced
@pytest.mark.timeout(300)
def test_a_topic_without_a_leader_or_without_itself_is_said(reader: Reader) -> None:
    reader.through("exercise-6")
    cluster, topic, check = (reader.names[it] for it in ("cluster", "topic", "check"))
    for act in (cluster.pause, cluster.kill):
        lab("lab").until("an answer", lambda: not check.check() and " hears " in check.missing)
        act(leader := cluster.leader(topic))
        assert not check.check() and check.missing == f"{topic} has no leader that answers"
        (cluster.resume if act == cluster.pause else cluster.restart)(leader)
        cluster.wait("a leader", lambda: cluster.leader(topic) > 0)
    cluster.admin.delete_topics([topic])[topic].result()
    cluster.wait("the end of the topic", lambda: topic not in cluster.view.topics())
    lab("lab").until("it is said", lambda: not check.check() and "no leader" in check.missing)


def test_a_leader_that_was_killed_has_not_resigned_by_itself() -> None:
    exercises = lab("kraft.exercises")
    for act, done in ((SimulatedQuorum.kill, False), (SimulatedQuorum.resign, False)):
        quorum = SimulatedQuorum(voters=3, seed=4)
        quorum.until(lambda quorum=quorum: quorum.leader)
        act(quorum, quorum.leader)
        quorum.run(2)
        assert exercises.resigned(quorum).passed is done
    quorum = SimulatedQuorum(voters=3, seed=4)
    quorum.until(lambda: quorum.leader)
    lab("answers.kraft").resigned(quorum)
    assert exercises.resigned(quorum).passed


def test_other_seeds_come_out_as_the_text_says() -> None:
    """What a learner who changes the seed sees is no contradiction."""
    questions = lab("kraft.questions")
    for seed in range(1, 15):
        quorum = SimulatedQuorum(voters=3, seed=seed)
        quorum.until(lambda quorum=quorum: quorum.leader)
        assert questions.elected(quorum) == questions.EARLIEST


def test_who_was_restarted_decides_what_came_true() -> None:
    questions = lab("kraft.questions")
    rose = [("3.3-IV0", ["FenceBroker"]), ("3.3-IV3", ["BrokerRegistrationChange"])]
    assert questions.rose([], rose) == questions.NO_NODE
    assert questions.rose([102], rose) == questions.ACTIVE_ONE
    assert questions.rose([1, 2, 3], rose) == questions.ONE_BY_ONE
    assert questions.rose([], [rose[0], rose[0]]) == questions.ONE_BY_ONE


@pytest.mark.parametrize(
    ("lost", "told"),
    [
        ((True, True), "In both: it is acknowledged, and lost"),
        ((True, False), "Only in the one with ZooKeeper"),
        ((False, True), "Only in the one with a quorum"),
        ((False, False), "In neither: it refuses, as another one leads"),
    ],
)
def test_a_record_is_lost_where_it_was_lost(lost: tuple[bool, bool], told: str) -> None:
    """A leader that wakes may read of its successor before the record, in one of the clusters."""
    clusters = [(["with acks=1"], [] if each else ["with acks=1"]) for each in lost]
    assert lab("kraft.questions").woken(clusters) == told
