"""What each part of the active controller works with."""

from dataclasses import dataclass

from engine.controller.controller_epoch import ControllerEpoch
from engine.controller.partition_state_machine import PartitionStateMachine
from engine.controller.replica_state_machine import ReplicaStateMachine


@dataclass(eq=False)
class ControllerPart:
    _epoch: ControllerEpoch
    _partitions: PartitionStateMachine
    _replicas: ReplicaStateMachine

    def __post_init__(self) -> None:
        self._context = self._epoch.context
