"""AlterIsr: a leader asks for another ISR, and the controller writes it (KIP-497).

    leader 1, epoch 7                controller                           ZooKeeper
      ISR 1,2, version 12 ─────────>   still leader, still epoch 7?
                                       ISR 1,2, if the version is 12 ──────> version 13
      <──────────────── version 13
                                       UpdateMetadata ──> all brokers

A leader that is not one any more is refused (FENCED_LEADER_EPOCH), and so is one that does not know
the newest version (INVALID_UPDATE_VERSION). A partition that has this ISR already is answered with
its version: after a lost answer the leader sends the request again.

The controller of an older protocol learns of a new ISR from /isr_change_notification instead
(topic_changes.py). A partition that is being moved has a watch on its state (reassignment.py), so
its move continues after the answer.

Another program may have written the state without a decision. If leader and epoch are still the
same, the leader's ISR is written over it. (In Kafka 2.8 the ISR stays unchanged after such a write,
until the next election.)

Invariant: an ISR has its leader in it, and no broker twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.controller.context import Context, Leadership
from engine.controller.events import AlterIsr, IsrChange
from engine.controller.metadata_store import MetadataStore
from engine.controller.requests import ControllerRequestBatch
from engine.errors import ApiException, ErrorCode
from engine.model import TopicPartition
from engine.zookeeper import znodes
from engine.zookeeper.requests import Reason, Refused, Set, Work

Outcomes = dict[TopicPartition, Leadership | ApiException]


@dataclass(eq=False)
class IsrChanges:
    _context: Context
    _store: MetadataStore
    _batch: ControllerRequestBatch

    def alter(self, event: AlterIsr) -> Work[Outcomes | ApiException]:
        """The new state of each partition, or its error; one error if the broker is not known."""
        alive = self._context.brokers.get(event.broker)
        if alive is None or alive.epoch != event.broker_epoch:
            why = f"broker {event.broker} is not registered in epoch {event.broker_epoch}"
            return ApiException(ErrorCode.stale_broker_epoch, why)
        outcomes: Outcomes = {}
        wanted: dict[TopicPartition, Leadership] = {}
        for partition, change in event.changes.items():
            checked = self._checked(partition, event.broker, change)
            if isinstance(checked, ApiException) or checked == self._context.leadership[partition]:
                outcomes[partition] = checked
            else:
                wanted[partition] = checked
        outcomes |= yield from self._write(wanted)
        known = [each for each in event.changes if each in self._context.leadership]
        self._batch.update_metadata(self._context.brokers, known)
        self._batch.send()
        return outcomes

    def _checked(
        self, partition: TopicPartition, broker: int, change: IsrChange
    ) -> Leadership | ApiException:
        """The state to be written, with the version that the leader knows. The known one, if the
        ISR is the same."""
        known = self._context.leadership.get(partition)
        if known is None:
            code, why = ErrorCode.unknown_topic_or_partition, f"there is no {partition}"
        elif change.leader_epoch < known.state.leader_epoch:
            code, why = ErrorCode.fenced_leader_epoch, f"the epoch is {known.state.leader_epoch}"
        elif change.leader_epoch > known.state.leader_epoch:  # elected by a newer controller
            code, why = ErrorCode.not_controller, f"epoch {change.leader_epoch} is not known here"
        elif broker != known.state.leader or not _is_valid(change.isr, broker):
            code, why = ErrorCode.invalid_request, f"{change.isr} is not an ISR of broker {broker}"
        elif change.isr == known.state.isr:
            return known
        elif change.version < 0:  # it would stand for any version
            code, why = ErrorCode.invalid_update_version, f"the version is {known.version}"
        else:
            state = known.state._replace(isr=change.isr, controller_epoch=self._store.epoch)
            return Leadership(state, change.version)
        return ApiException(code, why)

    def _write(self, wanted: Mapping[TopicPartition, Leadership]) -> Work[Outcomes]:
        outcomes: Outcomes = {}
        while wanted:
            before = {each: self._context.leadership[each].version for each in wanted}
            answers = yield from self._store.write(
                (Set(znodes.state_path(each), it.state.encode(), it.version),)
                for each, it in wanted.items()
            )
            refused: dict[TopicPartition, Refused] = {}
            for (partition, it), answer in zip(wanted.items(), answers, strict=True):
                if isinstance(answer, Refused):
                    refused[partition] = answer
                else:
                    outcomes[partition] = Leadership(it.state, answer[0])
            found = yield from self._store.read_states(list(refused))
            again = {}
            for (partition, answer), now in zip(refused.items(), found, strict=True):
                state = wanted[partition].state
                if now is not None and now.state == state:
                    outcomes[partition] = now  # only ZooKeeper's answer was lost
                elif now is not None and now.version != before[partition] and _agree(now, state):
                    again[partition] = Leadership(state, now.version)
                else:
                    outcomes[partition] = _refusal(answer)
            wanted = again
        for partition, outcome in outcomes.items():
            if isinstance(outcome, Leadership):
                self._context.leadership[partition] = outcome
        return outcomes


def _is_valid(isr: tuple[int, ...], leader: int) -> bool:
    return leader in isr and len(set(isr)) == len(isr) and min(isr) >= 0


def _agree(now: Leadership, state: znodes.LeaderAndIsr) -> bool:
    """Whether nobody has elected a leader meanwhile."""
    return (now.state.leader, now.state.leader_epoch) == (state.leader, state.leader_epoch)


def _refusal(answer: Refused) -> ApiException:
    if answer.reason is Reason.NO_NODE:
        return ApiException(ErrorCode.unknown_topic_or_partition, f"{answer.path} is gone")
    return ApiException(ErrorCode.invalid_update_version, f"{answer.path} has another version")
