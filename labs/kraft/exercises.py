"""The exercises of 10_kraft, and how each is judged.

up_to_date   a function, compared with what the engine's controllers vote
committed    a function, compared with the leader's high watermark
resigned     with the mouse: a leader that gives up by itself
planted      by command: a setting is found by what it does, and taken back
timeouts     a function, whose timeouts go into quorums on two networks
disk_lost    by command: a controller that has lost its disk votes again
"""

from collections.abc import Mapping, Sequence
from itertools import product
from random import Random
from statistics import median
from typing import NamedTuple

from lab import configure

from engine import Cluster
from engine.cluster import single_requests
from engine.cluster.event_stream import ClusterEvent
from engine.cluster.state import ClusterState, Status
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.raft.leader import majority_end
from engine.raft.model import OffsetAndEpoch, QuorumConfig
from engine.wire.apis import Api
from kraft.shared import active
from proof.quorum.film import QuorumEvent
from proof.quorum.simulated_quorum import SimulatedQuorum
from widgets import Check, Trial
from widgets.exercise import Code

LOG_ENDS = [OffsetAndEpoch(*it) for it in ((0, 0), (3, 1), (5, 1), (4, 2), (6, 2), (5, 3))]
VOTERS = 3, 4, 5
EPOCH_START = 6

TIMEOUTS = {  # Kafka's keys
    "controller.quorum.fetch.timeout.ms": "fetch_timeout_ms",
    "controller.quorum.election.timeout.ms": "election_timeout_ms",
    "controller.quorum.election.backoff.max.ms": "election_backoff_max_ms",
}
SHORTEST_MS = 50  # of a timeout
NETWORKS = {(50, 300): 1900, (10, 60): 800}  # what a message takes, and a failover may take, in ms
WAIT_MS = 500  # how long a leader keeps a Fetch
QUORUMS = 12  # on each network
SETTLE_S, CALM_S = 3.0, 20.0  # in which nobody stands for election

TOPICS = "bowls", "forks", "ladles"
USUAL = {  # refuses nothing
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": "500000",
    "min.insync.replicas": "2",
    "retention.ms": "86400000",
    "segment.bytes": "50000000",
}
MISTAKES = {  # each refuses the record of a producer that has no keys, and waits for acks=all
    "cleanup.policy": "compact",
    "max.message.bytes": "100",
    "min.insync.replicas": "4",
}
RECORD = "x" * 200


def up_to_date() -> Trial:
    return Trial(
        "up_to_date(candidate, own): may the candidate have the vote? Both are (offset, epoch)",
        _votes,
        hint="A longer log is not always a better one. Which of the two numbers counts first?",
    )


def _votes(code: Code) -> str:
    for candidate, own in product(LOG_ENDS, LOG_ENDS):
        try:
            found = bool(code(tuple(candidate), tuple(own)))
        except Exception as error:  # the learner's, and told
            return f"it raises {type(error).__name__}: {error}"
        wanted = candidate.is_at_least(own)
        if found != wanted:
            told = "gets" if wanted else "does not get"
            return (
                f"a candidate whose log ends at offset {candidate.offset} with epoch "
                f"{candidate.epoch} {told} the vote of one at offset {own.offset} with epoch "
                f"{own.epoch}"
            )
    return ""


def committed() -> Trial:
    return Trial(
        "committed(ends, epoch_start): the high watermark; 0 if it is not known yet",
        _marks,
        hint="Sort the log ends. Which of them has a majority reached? And what about records of "
        "an earlier epoch, on which no record of this one follows?",
    )


def _marks(code: Code) -> str:
    for voters in VOTERS:
        for ends in product((4, 6, 7, 9), repeat=voters):
            if ends[0] <= EPOCH_START:
                continue  # a leader has written at least one record
            try:
                found = code(list(ends), EPOCH_START)
            except Exception as error:  # the learner's, and told
                return f"it raises {type(error).__name__}: {error}"
            wanted = _engines_mark(ends)
            if found != wanted:
                return (
                    f"for log ends {', '.join(map(str, ends))} and an epoch that began at "
                    f"{EPOCH_START} it gives {found}, and the engine's leader says {wanted}"
                )
    return ""


def _engines_mark(ends: Sequence[int]) -> int:
    mark = majority_end(ends)
    return mark if mark > EPOCH_START else 0


class WatchedQuorum(NamedTuple):
    """What a Check asks: the events of a simulated quorum."""

    quorum: SimulatedQuorum

    def state(self) -> None:
        """All that is judged is in the events."""

    def events(self) -> Sequence[QuorumEvent]:
        return self.quorum.film.events


def resigned(quorum: SimulatedQuorum) -> Check:
    def has_resigned(state: object, events: Sequence[QuorumEvent]) -> str:
        kinds = [event.kind for event in events]
        if "resigned" not in kinds:
            return "no leader has resigned"
        if any(kind in ("kill", "resign") for kind in kinds):
            return "a controller was killed, or was asked to stop: begin again with the first cell"
        return ""

    return Check(
        "A leader resigns by itself: nobody was killed, and nobody was asked to stop",
        WatchedQuorum(quorum),
        has_resigned,
        hint="A leader that nobody fetches from can commit nothing.",
    )


def planted(cluster: Cluster, mistake: str = "") -> str:
    """Set many settings of three topics, one after the other; one of them is a mistake. Returns the
    topic that has it."""
    chance = Random()
    topics = [cluster.topic(name) for name in TOPICS]
    wrong = topics[0], mistake or chance.choice([*MISTAKES])
    changes = {(topic, name): value for topic in topics for name, value in USUAL.items()}
    changes[wrong] = MISTAKES[wrong[1]]
    for topic, name in chance.sample([*changes], len(changes)):
        configure(cluster, topic, **{name: changes[topic, name]})
    return topics[0]


def taken_back(cluster: Cluster, topic: str) -> Check:
    request = single_requests.produce_request(topic, RECORD, acks=-1)

    def is_stored(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
        found = state.partitions.get(TopicPartition(topic, 0))
        leader = state.brokers.get(found.leader) if found else None
        if leader is None or not leader.answers:
            return f"{topic} has no leader that answers"
        try:
            answer = single_requests.ask(cluster, found.leader, Api.PRODUCE, request)
        except ApiException as error:  # it has just died
            return f"{error}"
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
        return f"a producer of {topic} hears {code.name.upper()}" if code else ""

    return Check(
        f"One change too many: find it, and take it back. A record of {topic} is stored again",
        cluster,
        is_stored,
        hint="What does the error say: what is wrong with the record, or with the topic? Which "
        "kinds of records say how a topic is configured?",
    )


def timeouts() -> Trial:
    return Trial(
        "timeouts(slowest, wait): no election while the leader lives, and soon one when it is dead",
        _failovers,
        hint="How long may a follower wait for the answer to its Fetch, on the way there, at the "
        "leader, and on the way back? And how long a candidate for a vote?",
        done="Done: nobody stood for election too early, and there was soon another leader.",
    )


def _failovers(code: Code) -> str:
    for delay_ms, most in NETWORKS.items():
        try:
            config = _config(code(delay_ms[1], WAIT_MS))
        except Exception as error:  # the learner's, and told
            return f"it raises {type(error).__name__}: {error}"
        network = f"where a message takes up to {delay_ms[1]} ms"
        took = []
        for seed in range(1, QUORUMS + 1):
            quorum = SimulatedQuorum(seed=seed, delay_ms=delay_ms, config=config)
            if not quorum.until(lambda quorum=quorum: quorum.leader):
                return f"{network}, three controllers elect nobody"
            quorum.run(SETTLE_S)
            epoch = quorum.epoch
            quorum.run(CALM_S)
            if quorum.epoch != epoch:
                return f"{network}, a controller stood for election while the leader lived"
            took.append(_failover(quorum))
        if median(took) > most:
            return (
                f"{network}, another controller led after {median(took) / 1000:.1f} s, the median "
                f"of {QUORUMS} kills; {most / 1000:.1f} s are wanted"
            )
    return ""


def _config(values: Mapping[str, int]) -> QuorumConfig:
    found = {TIMEOUTS[key]: value for key, value in values.items()}
    for key, field in TIMEOUTS.items():
        if not isinstance(found[field], int | float) or found[field] < SHORTEST_MS:
            raise ValueError(f"{key} is {found[field]}: {SHORTEST_MS} ms or more")
    return QuorumConfig(fetch_max_wait_ms=WAIT_MS, **{it: round(found[it]) for it in found})


def _failover(quorum: SimulatedQuorum) -> int:
    """Milliseconds from the leader's death to the next leader."""
    killed, began = quorum.leader, quorum.now
    if killed is not None:
        quorum.kill(killed)
    quorum.until(lambda: quorum.leader not in (None, killed))
    return quorum.now - began


def disk_lost(cluster: Cluster, lost: int = 103) -> Check:
    def votes_again(state: ClusterState, events: Sequence[ClusterEvent]) -> str:
        voter, leader = state.controllers[lost], state.controllers.get(active(cluster))
        if voter.status is not Status.UP or not voter.answers:
            return f"controller {lost} does not run"
        if leader is None or voter.leader != leader.leader:
            return f"controller {lost} knows no leader"
        if voter.log_end < leader.high_watermark:
            return f"its log ends at {voter.log_end}, and {leader.high_watermark} is committed"
        return ""

    return Check(
        f"Controller {lost} has lost its disk: make it a voter again, with all that is committed",
        cluster,
        votes_again,
        hint="It starts only in a directory that was formatted (section 7), with its own node id "
        "and the cluster's id. Who knows that one?",
    )
