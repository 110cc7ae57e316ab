"""The file `quorum-state`: what a node must not forget of the newest epoch. JSON, as Kafka's.

    {"clusterId":"","leaderId":101,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,
     "currentVoters":[{"voterId":101},{"voterId":102}],"data_version":0}

Version 0, of voters that do not change. It is replaced as a whole, and is on the disk before a
message depends on it. A file that cannot be read is an error: a voter that forgets its vote could
vote twice.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.raft.model import ElectionState
from engine.storage import files
from engine.storage.checkpoints import malformed

QUORUM_STATE = "quorum-state"
NOBODY = -1


class QuorumStateFile:
    def __init__(self, directory: Path, voters: Iterable[int]) -> None:
        self.path = directory / QUORUM_STATE
        self._voters = sorted(voters)

    def read(self) -> ElectionState | None:
        """None: there is no file yet."""
        if not self.path.exists():
            return None
        try:
            found = json.loads(self.path.read_bytes())
            version = found["data_version"]
            if version not in (0, 1):
                raise ValueError(f"data_version {version}, and 0 and 1 are known")
            epoch = max(0, _number(found, "leaderEpoch"))
            leader, voted = _number(found, "leaderId"), _number(found, "votedId")
        except (ValueError, KeyError, TypeError) as error:
            raise malformed(self.path, error) from error
        if leader != NOBODY:
            return ElectionState(epoch, leader=leader)
        return ElectionState(epoch, voted=None if voted == NOBODY else voted)

    def write(self, election: ElectionState) -> None:
        epoch, leader, voted = election
        content = {
            "clusterId": "",
            "leaderId": NOBODY if leader is None else leader,
            "leaderEpoch": epoch,
            "votedId": NOBODY if voted is None else voted,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in self._voters],
            "data_version": 0,
        }
        files.replace(self.path, json.dumps(content, separators=(",", ":")).encode())


def _number(found: dict[str, Any], name: str) -> int:
    value = found[name]
    if type(value) is not int or value < NOBODY:
        raise ValueError(f"{name} is {value!r}")
    return value
