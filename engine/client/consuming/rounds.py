"""How a member goes from one assignment to the next, as far as the application has a part in it.

    begin ─> RELEASING: Revoke or Lost ─> done ─> JOINING ...         or OUT, if it is to leave
    take  ─> TAKING:    Revoke, Assign ─> done ─> STABLE

A round begins with what the application has to give up:

    eager         everything: then all may be dealt anew at once, and nobody reads meanwhile
    cooperative   only what is not wanted any more; what the others are to have is given up at the
                  end of the round, and they get it in the next (KIP-429)
    lost          everything, if the group believes us dead: others have it already

Invariant: nobody joins, and nobody leaves, before the application has given up what it must.
Invariant: what is owned is what the application was told last. It is nothing that the group has
given to others, unless we are still to be told that we are dead.
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kio.schema.leave_group.v4.request import LeaveGroupRequest, MemberIdentity

from engine.client.asking import Ask
from engine.client.assignors import Rebalance
from engine.client.consuming.coordinating import Coordinating
from engine.client.consuming.heartbeat import Heartbeat
from engine.client.consuming.leading import Leading
from engine.client.consuming.orders import Assign, Lost, Order, Revoke
from engine.client.consuming.states import State, check
from engine.client.consuming.subscription import Strategies, Wish
from engine.config.consumer import ConsumerConfig
from engine.errors import ErrorCode, KafkaError
from engine.model import Event, TopicPartition
from engine.wire.apis import Api

NO_MEMBER, NO_GENERATION = "", -1

WHY = {
    ErrorCode.fenced_instance_id: "another consumer has joined under our group.instance.id",
    ErrorCode.inconsistent_group_protocol: "the group uses none of our strategies; see "
    "partition.assignment.strategy",
    ErrorCode.group_max_size_reached: "the group is full; see the brokers' group.max.size",
    ErrorCode.invalid_session_timeout: "session.timeout.ms is not between the brokers' "
    "group.min.session.timeout.ms and group.max.session.timeout.ms",
}


class Identity(NamedTuple):
    """Who is speaking. Without a generation it is no member, or not yet one."""

    group: str
    generation: int = NO_GENERATION
    member_id: str = NO_MEMBER
    instance_id: str | None = None


class Rounds:
    def __init__(
        self,
        config: ConsumerConfig,
        coordinating: Coordinating,
        emit: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.state = State.OUT
        self.orders: deque[Order] = deque()  # popleft, carry out, then `done`
        self.owned: frozenset[TopicPartition] = frozenset()
        self.identity = Identity(coordinating.group_id, instance_id=config.group_instance_id)
        self.error: KafkaError | None = None  # see take_error
        self.exceeded = False  # max.poll.interval.ms was; who tells of it sets it back
        self._config = config
        self._coordinating = coordinating
        self._emit = emit
        self._heartbeat = Heartbeat(config)
        self._strategies = Strategies(config)
        self._wish: Wish | None = None  # None: unsubscribed
        self._resting = False  # out until the application polls again
        self._open = 0  # orders that are not done
        self._round = 0
        self._asked = False  # in this round and state, and not answered yet
        self._nameless = False  # the last JoinGroup was: its answer brings a name
        self._not_before = 0.0  # is the next JoinGroup sent
        self._again = ""  # why there has to be another round
        self._fresh: int | None = None  # the view has to be newer than this before we join
        self._seen: int | None = None  # the version of the view that we looked at last
        self._leading: Leading | None = None
        self._farewells: list[Ask] = []
        self._leaving = 0  # answers to wait for before we are gone

    # -- for the application ---------------------------------------------------------------

    def subscribe(
        self, topics: Collection[str], pattern: re.Pattern[str] | None, now: float
    ) -> None:
        self._wish = Wish(topics, pattern, internal=not self._config.exclude_internal_topics)
        self._seen = None
        self._heartbeat.polled(now)
        self._take_part(now)

    def unsubscribe(self, now: float) -> None:
        """Leaves when what is owned has been given up. A static member goes without a word."""
        self._wish = None
        self._begin("unsubscribed", now)

    def close(self, now: float) -> None:
        """Like unsubscribe: carry out the orders, and wait until it `has_left`."""
        self.unsubscribe(now)

    @property
    def has_left(self) -> bool:
        return self.state is State.OUT and not self._leaving

    def polled(self, now: float) -> None:
        """The application is alive."""
        self._heartbeat.polled(now)
        self._take_part(now)

    def take_error(self) -> KafkaError | None:
        """What the next poll has to raise. To poll once more is to try once more; but a member
        that has been fenced stays so."""
        error = self.error
        if error is not None and error.code != ErrorCode.fenced_instance_id:
            self.error = None
        return error

    def done(self, order: Order, now: float) -> None:
        assert self._open > len(self.orders), "an order is taken from the queue first"
        self._open -= 1
        others = self.owned - set(order.partitions)
        self.owned = others | set(order.partitions) if isinstance(order, Assign) else others
        names = [str(each) for each in order.partitions]
        self._tell(order.done, now, partitions=names)
        if self._open == 0 and self.state is State.TAKING:
            self._move(State.STABLE, "the application knows", now)
        elif self._open == 0 and self.state is State.RELEASING:
            self._release(now)

    # -- rounds ----------------------------------------------------------------------------

    def _take_part(self, now: float) -> None:
        """From now on, unless an error is still to be told."""
        if self.error is not None or self._wish is None:
            return
        self._resting = False
        if self.state is State.OUT:
            self._move(State.JOINING, "subscribed", now)

    def _begin(self, reason: str, now: float, pause: float = 0.0) -> None:
        """Another round, or the end; whatever was asked in this one is answered in vain."""
        if self.state is State.OUT:
            return
        self._open -= len(self.orders)
        self.orders.clear()
        if self.state is State.JOINING and self._asked and self._nameless:
            self._leaving += 1  # we are being given a name that others would wait for
        self._round += 1
        self._not_before = now + pause
        self._asked, self._again, self._fresh, self._leading = False, "", None, None
        if self.state is not State.RELEASING:
            self._move(State.RELEASING, reason, now)
        if self._open == 0:
            self._release(now)

    def _release(self, now: float) -> None:
        partitions = self._to_give_up()
        if partitions:
            is_lost = self.identity.generation == NO_GENERATION
            self._order(Lost(partitions) if is_lost else Revoke(partitions))
        elif self._stays_away:
            self._leave()
            self._move(State.OUT, "nothing is owned", now)
        else:
            self._move(State.JOINING, "nothing is owned that must not be", now)

    def _to_give_up(self) -> tuple[TopicPartition, ...]:
        cooperates = self._strategies.rebalance is Rebalance.COOPERATIVE
        is_member = self.identity.generation != NO_GENERATION
        kept: set[TopicPartition] = set()
        if cooperates and is_member and self._wish is not None and not self._resting:
            kept = {each for each in self.owned if self._wish.matches(each.topic)}
        return tuple(sorted(self.owned - kept))

    def _take(self, partitions: Sequence[TopicPartition], now: float) -> None:
        """Our share. An eager member owns nothing by now."""
        self._strategies.remember(partitions, self.identity.generation)
        self._move(State.TAKING, "the share is there", now)
        if revoked := sorted(self.owned - set(partitions)):
            self._order(Revoke(tuple(revoked)))
            self._again = "others are to have what was given up"
        self._order(Assign(tuple(each for each in partitions if each not in self.owned)))

    def _order(self, order: Order) -> None:
        self.orders.append(order)
        self._open += 1

    # -- the end ---------------------------------------------------------------------------

    @property
    def _stays_away(self) -> bool:
        return self._wish is None or self._resting

    def _fail(self, error: KafkaError, now: float) -> None:
        self.error = error
        self._rest(error.message, now)

    def _rest(self, reason: str, now: float) -> None:
        """Out of the group at once. What the application still owns is lost."""
        self._resting = True
        self._leave()
        self._begin(reason, now)

    def _void(self, code: ErrorCode) -> None:
        """The group does not know us as what we are. Of a wrong generation only that is wrong:
        who joins under its old name leaves no ghost behind that the others wait for."""
        if code != ErrorCode.illegal_generation:
            self.identity = self.identity._replace(member_id=NO_MEMBER)
        self.identity = self.identity._replace(generation=NO_GENERATION)

    def _leave(self) -> None:
        self._say_goodbye(self.identity.member_id)
        self._void(ErrorCode.none)

    def _say_goodbye(self, member_id: str) -> None:
        """If there is somebody to hear it; otherwise the session ends by itself."""
        coordinator = self._coordinating.known
        if member_id and self.identity.instance_id is None and coordinator is not None:
            identity = MemberIdentity(member_id=member_id, group_instance_id=None)
            request = LeaveGroupRequest(group_id=self.identity.group, members=(identity,))
            self._farewells.append(Ask(coordinator, Api.LEAVE_GROUP, request))
            self._leaving += 1

    # -- for those who look on -------------------------------------------------------------

    def _move(self, to: State, reason: str, now: float) -> None:
        check(self.state, to)
        was, self.state = self.state, to
        self._tell("state", now, was=was.value, now=to.value, reason=reason)

    def _tell(self, what: str, at: float, /, **data: object) -> None:
        group, generation, member, instance = self.identity
        who = {"group": group, "generation": generation, "member": member, "instance": instance}
        self._emit(Event(f"consumer.{what}", round(at * 1000), who | data))
