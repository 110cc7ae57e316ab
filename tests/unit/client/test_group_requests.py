"""Requests about groups: to the coordinator, wherever it is, as soon as it can answer."""

from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace as Message
from typing import Any

import pytest

from engine.assignors.protocol import Assignment, encode_assignment
from engine.client.admin import group_requests
from engine.client.admin.group_requests import ListedGroup
from engine.client.cluster import ClusterClient
from engine.client.offset_and_metadata import OffsetAndMetadata
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.wire.apis import Api
from tests.unit.client.fake import FakeBroker, HangUp, metadata

ORDERS = TopicPartition("orders", 0)
CODES = ErrorCode


class Brokers:
    """Brokers 1 and 2. What they answer stands here; the last answer is for ever."""

    def __init__(self, stack: ExitStack) -> None:
        self.coordinators: list[int | ErrorCode] = [1]
        self.codes: list[ErrorCode] = [CODES.none]  # to requests that only the coordinator serves
        self.listed: dict[int, list[str] | ErrorCode] = {1: ["a"], 2: ["b"]}
        self.described = Message(
            error_code=CODES.none,
            group_id="g",
            group_state="Stable",
            protocol_type="consumer",
            protocol_data="range",
            members=[],
        )
        self.asked: list[tuple[int, Api, Any]] = []
        self.brokers = {n: stack.enter_context(FakeBroker(self._answers(n))) for n in (1, 2)}
        self.alive = {number: broker.address for number, broker in self.brokers.items()}

    def _answers(self, number: int) -> dict[Api, Any]:
        def noted(api: Api, answer: Any) -> Any:
            def note(request: Any) -> Any:
                self.asked.append((number, api, request))
                return answer(request)

            return note

        return {
            Api.METADATA: lambda request: metadata(self.alive, {"orders": [1]}, request),
            Api.FIND_COORDINATOR: self._find,
            Api.LIST_GROUPS: lambda request: self._list(number),
            Api.DESCRIBE_GROUPS: noted(Api.DESCRIBE_GROUPS, self._describe),
            Api.DELETE_GROUPS: noted(Api.DELETE_GROUPS, self._delete),
            Api.OFFSET_FETCH: noted(Api.OFFSET_FETCH, self._fetch),
            Api.OFFSET_COMMIT: noted(Api.OFFSET_COMMIT, self._outcomes),
            Api.OFFSET_DELETE: noted(Api.OFFSET_DELETE, self._outcomes),
        }

    def code(self) -> ErrorCode:
        return self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]

    def _find(self, request: Any) -> Any:
        found = self.coordinators[0]
        if len(self.coordinators) > 1:
            self.coordinators.pop(0)
        code = found if isinstance(found, ErrorCode) else CODES.none
        node = -1 if isinstance(found, ErrorCode) else found
        return Message(error_code=code, error_message=None, node_id=node, host="", port=0)

    def _list(self, number: int) -> Any:
        names = self.listed[number]
        if isinstance(names, ErrorCode):
            return Message(error_code=names, groups=[])
        rows = [
            Message(group_id=each, protocol_type="consumer", group_state="Empty") for each in names
        ]
        return Message(error_code=CODES.none, groups=rows)

    def _describe(self, request: Any) -> Any:
        self.described.error_code = self.code()
        return Message(groups=[self.described])

    def _delete(self, request: Any) -> Any:
        return Message(results=[Message(group_id="g", error_code=self.code())])

    def _fetch(self, request: Any) -> Any:
        found = Message(
            partition_index=0,
            committed_offset=5,
            committed_leader_epoch=2,
            metadata="a note",
            error_code=self.code(),
        )
        none = Message(
            partition_index=1,
            committed_offset=-1,
            committed_leader_epoch=-1,
            metadata="",
            error_code=CODES.none,
        )
        topics = [Message(name="orders", partitions=[found, none])]
        return Message(error_code=CODES.none, topics=topics)

    def _outcomes(self, request: Any) -> Any:
        rows = [
            Message(partition_index=each.partition_index, error_code=self.code())
            for each in request.topics[0].partitions
        ]
        return Message(error_code=CODES.none, topics=[Message(name="orders", partitions=rows)])


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    with ExitStack() as stack:
        yield Brokers(stack)


@pytest.fixture
def view(brokers: Brokers) -> Iterator[ClusterClient]:
    with ClusterClient([brokers.alive[1]], patience=5) as view:
        yield view


def test_a_coordinator_that_moves_is_looked_for_again(
    brokers: Brokers, view: ClusterClient
) -> None:
    """At first there is none, then it is still loading, then it has moved."""
    brokers.coordinators = [CODES.coordinator_not_available, 1, 1, 2]
    brokers.codes = [CODES.coordinator_load_in_progress, CODES.not_coordinator, CODES.none]
    assert group_requests.describe(view, "g").coordinator == 2
    assert [number for number, _, _ in brokers.asked] == [1, 1, 2]


def test_a_refusal_is_told_at_once(brokers: Brokers, view: ClusterClient) -> None:
    brokers.codes = [CODES.non_empty_group]
    with pytest.raises(ApiException, match=r"The group is not empty\.") as failure:
        group_requests.delete(view, "g")
    assert failure.value.code == CODES.non_empty_group
    assert len(brokers.asked) == 1


def test_every_broker_is_asked_for_its_groups(brokers: Brokers, view: ClusterClient) -> None:
    found, silent = group_requests.list_groups(view)
    assert found == {name: ListedGroup("consumer", "Empty") for name in ("a", "b")}
    assert silent == {}


def test_a_broker_that_cannot_tell_its_groups_is_named(
    brokers: Brokers, view: ClusterClient
) -> None:
    brokers.listed[2] = CODES.cluster_authorization_failed
    found, silent = group_requests.list_groups(view)
    assert (list(found), list(silent)) == (["a"], [2])


def test_a_broker_that_does_not_answer_takes_no_time_from_the_others(
    brokers: Brokers, view: ClusterClient
) -> None:
    asked: list[int] = []

    class Noted(dict[int, Any]):
        def __getitem__(self, number: int) -> Any:
            asked.append(number)
            return super().__getitem__(number)

    brokers.listed = Noted({1: CODES.coordinator_not_available, 2: ["b"]})
    with view.within(0.5):
        found, silent = group_requests.list_groups(view)
    assert (list(found), list(silent)) == (["b"], [1])
    assert asked[:3] == [1, 2, 1]


def test_what_members_have(brokers: Brokers, view: ClusterClient) -> None:
    """Of a consumers' group the assignment is read; of another one it is left as it is."""
    assignment = encode_assignment(Assignment((ORDERS,)))
    brokers.described.members = [
        Message(
            member_id="m1",
            group_instance_id="desk",
            client_id="c",
            client_host="/h",
            member_metadata=b"s",
            member_assignment=assignment,
        )
    ]
    (member,) = group_requests.describe(view, "g").members
    assert member == group_requests.DescribedMember(
        "m1", "desk", "c", "/h", b"s", assignment, (ORDERS,)
    )
    brokers.described.protocol_type = "connect"
    (member,) = group_requests.describe(view, "g").members
    assert (member.assignment, member.partitions) == (assignment, ())


def test_what_is_committed(brokers: Brokers, view: ClusterClient) -> None:
    """Asked for all, a group tells what it has; asked for some, also what it has not."""
    has = {ORDERS: OffsetAndMetadata(5, 2, "a note")}
    none = {TopicPartition("orders", 1): OffsetAndMetadata(-1, -1, "")}
    assert group_requests.committed(view, "g") == has
    assert group_requests.committed(view, "g", [ORDERS, *none]) == has | none
    assert brokers.asked[0][2].topics is None


def test_an_offset_that_is_not_stable_is_waited_for(brokers: Brokers, view: ClusterClient) -> None:
    brokers.codes = [CODES.unstable_offset_commit, CODES.none]
    assert group_requests.committed(view, "g", [ORDERS], stable=True)[ORDERS] == OffsetAndMetadata(
        5, 2, "a note"
    )
    assert [request.require_stable for _, _, request in brokers.asked] == [True, True]


def test_a_commit_is_told_by_partition(brokers: Brokers, view: ClusterClient) -> None:
    other = TopicPartition("orders", 1)
    brokers.codes = [CODES.unknown_topic_or_partition, CODES.none]
    outcomes = group_requests.commit(
        view, "g", dict.fromkeys([ORDERS, other], OffsetAndMetadata(3, 1, "x"))
    )
    assert outcomes[other] is None
    assert outcomes[ORDERS] is not None
    assert outcomes[ORDERS].code == CODES.unknown_topic_or_partition
    ((_, _, request),) = brokers.asked
    assert (request.member_id, request.generation_id) == ("", -1)
    (row, _) = request.topics[0].partitions
    assert (row.committed_offset, row.committed_leader_epoch, row.committed_metadata) == (3, 1, "x")


def test_a_commit_is_sent_again_when_the_coordinator_moves(
    brokers: Brokers, view: ClusterClient
) -> None:
    brokers.coordinators = [1, 2]
    brokers.codes = [CODES.not_coordinator, CODES.none]
    assert group_requests.commit(view, "g", {ORDERS: OffsetAndMetadata(3, -1, "")}) == {
        ORDERS: None
    }
    assert [number for number, _, _ in brokers.asked] == [1, 2]


def test_a_coordinator_that_dies_is_asked_for_again(brokers: Brokers, view: ClusterClient) -> None:
    def hang_up(request: Any) -> Any:
        raise HangUp

    brokers.coordinators = [1, 2]
    brokers.brokers[1].answers[Api.OFFSET_DELETE] = hang_up
    assert group_requests.delete_offsets(view, "g", [ORDERS]) == {ORDERS: None}
    assert [number for number, _, _ in brokers.asked] == [2]
