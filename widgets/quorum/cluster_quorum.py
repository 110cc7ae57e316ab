"""The controllers of a real cluster as a film, as QuorumView shows that of a simulated one.

    states of the cluster       the ends and marks of their logs, how long each still waits
    events of the controllers   who stands for election, votes, leads, and when: to the ms
                                └──> QuorumFilm, whose time begins with the run

A request for a vote is drawn when it was sent, and arrives when the voter answers. One that nobody
answers in time is lost. Nobody tells of the Fetches: there are too many.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from engine.cluster.event_stream import ClusterEvent
from engine.cluster.link_faults import FIRST_CONTROLLER, controller
from engine.cluster.state import ClusterState, ControllerState, Status
from engine.errors import ErrorCode, invalid_request
from engine.model import NO_BROKER
from engine.raft.messages import VoteRequest, VoteResponse
from engine.raft.model import OffsetAndEpoch
from engine.raft.states import RaftState
from proof.quorum.election_words import refused, told
from proof.quorum.film import FilmedMessage, QuorumFilm
from proof.quorum.moments import NodeMoment
from widgets.replay.simulated_run import film_of
from widgets.run_source import LiveRun, RunSource

ANSWER_MS = 200  # without an answer for so long, a request for a vote was lost
WAY_MS = 1  # of an answer
SAME_MS = 3  # two deadlines nearer than this are one
LIVES = {Status.UP: "up", Status.PAUSED: "paused", Status.DOWN: "down"}
UNBORN = NodeMoment(0, "down", None, 0, None, None, (), 0, 0, 0, 0, None)
FAULTS: Mapping[str, tuple[str, str]] = {
    "controller.killed": ("kill", "{} is killed"),
    "controller.died": ("kill", "{} died"),
    "controller.paused": ("pause", "{} is paused"),
    "controller.resumed": ("resume", "{} goes on"),
    "controller.stopped": ("resign", "{} stops in order"),
    "controller.started": ("start", "{} is started"),
}


class ClusterQuorum:
    def __init__(self, source: Any) -> None:
        """`source`: an engine.Cluster without ZooKeeper, or a Recording of one."""
        self.cluster = source if hasattr(source, "state") else None
        self.run_source: RunSource = (
            LiveRun.of(source) if self.cluster is not None else RunSource(film_of(source))
        )
        self.film = QuorumFilm()
        self._until = self.run_source.start - 1
        self._event = 0
        self.update()
        if not self.film.nodes:
            raise invalid_request("there are no controllers here: their metadata is in ZooKeeper")

    @property
    def start(self) -> int:
        """Of the film, in ms since 1970."""
        return self.run_source.start

    @property
    def now(self) -> int:
        return self.run_source.end - self.start

    def name(self, id: int) -> int | str:
        """As the cluster's faults call a node: "controller-1", or a broker's number."""
        return controller(id - FIRST_CONTROLLER + 1) if id >= FIRST_CONTROLLER else id

    def isolate(self, id: int) -> None:
        """Cut a controller off from all other controllers."""
        assert self.cluster is not None, "a recording has no faults to offer"
        for other in self.film.voters - {id}:
            self.cluster.cut(self.name(id), self.name(other))

    @property
    def is_cut(self) -> bool:
        return any(it.cut for it in self.run_source.at(self.run_source.end).links)

    def update(self) -> None:
        """States and events in the order of their times."""
        end = self.run_source.end
        events = self._new_events()
        states = self.run_source.between(self._until, end)[1:]
        steps: list[tuple[int, Callable[[], None]]] = [
            *((event.at, partial(self._see_event, event)) for event in events),
            *((state.at, partial(self._see_state, state)) for state in states),
        ]
        for _, see in sorted(steps, key=lambda step: step[0]):
            see()
        self._until = max(self._until, end)

    def _new_events(self) -> Iterable[ClusterEvent]:
        run_source, after = self.run_source, self._event
        is_live = self.cluster is not None
        found = run_source.events(after) if is_live else run_source.film.events(after)
        if found:
            self._event = found[-1].number
        return [event for event in found if event.at >= self.start]

    # -- states ----------------------------------------------------------------------------

    def _see_state(self, state: ClusterState) -> None:
        self.film.voters |= frozenset(state.controllers)
        for id, node in state.controllers.items():
            last = self.film.nodes.setdefault(id, [UNBORN])[-1]
            self._see(id, _moment(node, state.at - self.start, last, self.start))
        leading = [it for it in state.controllers.values() if it.is_active]
        if leading:
            leader = max(leading, key=lambda it: it.epoch)
            self._see_observers(state, leader)

    def _see_observers(self, state: ClusterState, leader: ControllerState) -> None:
        """Brokers, as far as the leader knows."""
        for id, end in leader.observers:
            broker = state.brokers.get(id)
            is_up = broker is not None and broker.status is Status.UP
            known = (leader.epoch, leader.leader, None, leader.epochs)
            marks = min(leader.log_start, end), end, min(end, leader.high_watermark)
            life = "down" if broker is None else LIVES[broker.status]
            role = RaftState.FOLLOWER if is_up else None
            self.film.nodes.setdefault(id, [UNBORN])
            at = state.at - self.start
            self._see(id, NodeMoment(at, life, role, *known, *marks, at, None))

    def _see(self, id: int, now: NodeMoment) -> None:
        moments = self.film.nodes[id]
        last = moments[-1]
        if now._replace(at=0, since=0) == last._replace(at=0, since=0):
            return
        moments.append(now._replace(at=max(now.at, last.at)))
        if last is UNBORN:
            return  # it was there before the film began
        if id not in self.film.voters:
            return  # what an observer hears decides nothing
        for kind, words, nodes in told(id, last, now):
            if kind not in ("started", "committed"):
                self.film.add(now.at, kind, words, *nodes)

    # -- events ----------------------------------------------------------------------------

    def _see_event(self, event: ClusterEvent) -> None:
        at, data, node = event.at - self.start, event.data, event.broker
        if event.kind in FAULTS:
            kind, words = FAULTS[event.kind]
            id = data["controller"]
            self.film.add(at, kind, words.format(id), id)
        elif event.kind in ("link.cut", "link.healed"):
            self._see_link(at, event)
        elif node is None or node not in self.film.nodes:
            return
        elif event.kind == "quorum.state":
            moment = self.film.nodes[node][-1]
            epoch, leader, voted = data["epoch"], _known(data["leader"]), _known(data["voted"])
            state = RaftState(data["state"])
            now = moment._replace(at=at, life="up", state=state, epoch=epoch, due=None)
            self._see(node, now._replace(leader=leader, voted=voted))
        elif event.kind == "vote.asked":
            end = OffsetAndEpoch(data["end"], data["last_epoch"])
            body = VoteRequest("", data["epoch"], node, end)
            asked = FilmedMessage(node, data["voter"], body, at, at + ANSWER_MS)
            self.film.messages.append(asked)
        elif event.kind == "vote.answered":
            self._see_answer(at, node, data)

    def _see_answer(self, at: int, voter: int, data: Mapping[str, Any]) -> None:
        candidate, epoch = data["candidate"], data["epoch"]
        for asked in reversed(self.film.messages):
            is_it = (asked.source, asked.target) == (candidate, voter) and asked.came is None
            if is_it and asked.sent <= at + ANSWER_MS:
                asked.came = max(at, asked.sent)
                break
        body = VoteResponse(ErrorCode.none, epoch, None, data["granted"])
        answer = FilmedMessage(voter, candidate, body, at, at + WAY_MS, at + WAY_MS)
        self.film.messages.append(answer)
        if not data["granted"]:
            words = refused(voter, candidate, self.film.nodes[voter][-1])
            self.film.add(at, "refused", words, voter, candidate)

    def _see_link(self, at: int, event: ClusterEvent) -> None:
        kind = "cut" if event.kind == "link.cut" else "heal"
        one, other = event.data.get("one"), event.data.get("other")
        ends = f"between {one} and {other}" if one is not None else "of all"
        words = f"the link {ends} is {'cut' if kind == 'cut' else 'whole again'}"
        self.film.add(at, kind, words)


def _moment(node: ControllerState, at: int, last: NodeMoment, start: int) -> NodeMoment:
    is_up = node.status is Status.UP and node.answers
    life = LIVES[node.status] if node.status is not Status.UP else "up"
    if node.status is Status.DOWN:
        return last._replace(at=at, life="down", state=None, due=None)
    if not is_up:
        return last._replace(at=at, life=life)
    due = node.due - start if node.due else None
    is_same = last.due is not None and due is not None and abs(due - last.due) <= SAME_MS
    return NodeMoment(
        *(at, life, RaftState(node.role), node.epoch, _known(node.leader), _known(node.voted)),
        tuple((epoch, offset) for epoch, offset in node.epochs),
        *(node.log_start, node.log_end, node.high_watermark),
        last.since if is_same else at,
        last.due if is_same else due,
    )


def _known(id: int) -> int | None:
    return None if id == NO_BROKER else id
