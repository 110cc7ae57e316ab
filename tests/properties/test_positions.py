"""Whatever an application does with its partitions, and however late the answers come, it gets each
record once and in order from where it wanted to begin, and nothing of what is paused.

Answers wait until the example lets one come, or lets it be lost with its connection. Meanwhile the
application pauses, resumes, seeks, gives partitions back and takes them again, and leaders change.
In the end all connections are well: then every partition has to be read to its end.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.client.core import Ask
from engine.client.values import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from tests.unit.client.logs import P0, P1, Message, Reading

ACTS = ["append", "assign", "unassign", "pause", "resume", "seek", "begin", "end", "elect"]
STEP = st.one_of(
    st.tuples(st.sampled_from(ACTS), st.sampled_from([P0, P1]), st.integers(0, 6)),
    st.tuples(st.sampled_from(["answer", "lose"]), st.integers(0, 3)),
    st.tuples(st.just("wait"), st.sampled_from([0.05, 0.5, 2])),
    st.tuples(st.just("read")),
)
LOST = ApiException(ErrorCode.network_exception)


class Application(Reading):
    def __init__(self) -> None:
        self.pending: list[Callable[[bool], None]] = []  # answers: lost, or not
        self.expected: dict[TopicPartition, int | None] = {}  # the next offset, if that is known
        self.paused = set[TopicPartition]()
        super().__init__()
        self.positions._committed = self._ask_group

    def _ask_group(self, partitions: Any, then: Callable[[Any], None], now: float) -> None:
        nothing = {each: Message(offset=-1, epoch=-1) for each in partitions}
        self.pending.append(lambda lost: then(LOST if lost else nothing))

    def _serve(self, core: Any, ask: Ask, until: float) -> None:
        self.pending.append(partial(self._bring, core, ask, until))

    def _bring(self, core: Any, ask: Ask, until: float, lost: bool) -> None:
        if lost:
            core.failed(ask, LOST, self.now)
        else:
            super()._serve(core, ask, until)

    # -- steps ---------------------------------------------------------------------------

    def take(self, step: tuple[Any, ...]) -> None:
        match step:
            case ("answer" | "lose") as how, number:
                if number < len(self.pending):
                    self.pending.pop(number)(how == "lose")
            case "wait", seconds:
                self.pass_time(seconds)
            case ("read",):
                self.deliver()
            case act, partition, number:
                self._act(act, partition, number)
        self.settle()

    def _act(self, act: str, partition: TopicPartition, number: int) -> None:
        log = self.logs[partition]
        match act, partition in self.expected:
            case "append", _:
                log.append(*"abc"[: number % 3 + 1])
            case "elect", _:
                log.elect(1 + number % 2)
            case "assign", False:
                self.positions.assign({partition: OFFSET_INVALID})
                self.expected[partition] = 0  # earliest: nothing is committed
            case "unassign", True:
                self.positions.unassign([partition])
                del self.expected[partition]
                self.paused.discard(partition)
            case "pause", True:
                self.positions.pause(partition, True)
                self.paused.add(partition)
            case "resume", True:
                self.positions.pause(partition, False)
                self.paused.discard(partition)
            case "seek", True:
                self.expected[partition] = min(number, log.end)
                self.positions.seek(partition, min(number, log.end))
            case "begin", True:
                self.expected[partition] = 0
                self.positions.seek(partition, OFFSET_BEGINNING)
            case "end", True:
                self.expected[partition] = None  # the end is where it is when it is looked up
                self.positions.seek(partition, OFFSET_END)

    def deliver(self) -> None:
        while self.fetching.fetched:
            fetched = self.fetching.fetched.popleft()
            while fetched.is_valid and not fetched.is_exhausted:
                for message in fetched.unpack(1, False).take(100):
                    self._check(TopicPartition(message.topic(), message.partition()), message)
            if fetched.is_valid:
                fetched.place.ready -= 1

    def _check(self, partition: TopicPartition, message: Any) -> None:
        assert partition in self.expected and partition not in self.paused
        assert self.expected[partition] in (None, message.offset())
        self.expected[partition] = message.offset() + 1

    def finish(self) -> None:
        for partition in self.expected:
            self.positions.pause(partition, False)
        self.paused.clear()
        for _ in range(30):
            while self.pending:
                self.pending.pop(0)(False)
            self.deliver()
            self.pass_time(0.5)


@given(st.lists(STEP, max_size=40))
def test_every_partition_is_read_to_its_end_in_order(steps: list[tuple[Any, ...]]) -> None:
    application = Application()
    application.settle()
    for step in steps:
        application.take(step)
    application.finish()
    for partition, expected in application.expected.items():
        end = application.logs[partition].end
        assert application.place(partition).offset == end
        assert expected in (None, end)
