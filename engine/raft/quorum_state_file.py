"""The file `quorum-state`: what a node must not forget of the newest epoch. JSON, as Kafka's.

    {"clusterId":"","leaderId":101,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,
     "currentVoters":[{"voterId":101},{"voterId":102}],"data_version":0}

Version 0, of voters that do not change. It is replaced as a whole, and is on the disk before a
message depends on it. A file that cannot be read is an error: a voter that forgets its vote could
vote twice. So is one of other voters, as in Kafka 3.3: new voters without the log would be a
majority, elect a leader with an empty log, and every topic would be gone.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.errors import invalid_config
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
        found = self._content()
        if found is None:
            return None
        election, voters = found
        if voters and self._voters and voters != self._voters:  # none: who only looks
            raise invalid_config(
                f"{self.path} is of the voters {_listed(voters)}, and controller.quorum.voters has "
                f"{_listed(self._voters)}: start it with the voters that it had"
            )
        return election

    def voters(self) -> list[int]:
        """The voters that the file names; none without a file, or in one of version 1."""
        found = self._content()
        return [] if found is None else found[1]

    def _content(self) -> tuple[ElectionState, list[int]] | None:
        if not self.path.exists():
            return None
        try:
            found = json.loads(self.path.read_bytes())
            version = found["data_version"]
            if version not in (0, 1):
                raise ValueError(f"data_version {version}, and 0 and 1 are known")
            epoch = max(0, _number(found, "leaderEpoch"))
            leader, voted = _number(found, "leaderId"), _number(found, "votedId")
            voters = sorted(_number(each, "voterId") for each in found.get("currentVoters") or ())
        except (ValueError, KeyError, TypeError) as error:
            raise malformed(self.path, error) from error
        if leader != NOBODY:
            return ElectionState(epoch, leader=leader), voters
        return ElectionState(epoch, voted=None if voted == NOBODY else voted), voters

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


def _listed(voters: Iterable[int]) -> str:
    return ", ".join(map(str, voters))


def _number(found: dict[str, Any], name: str) -> int:
    value = found[name]
    if type(value) is not int or value < NOBODY:
        raise ValueError(f"{name} is {value!r}")
    return value
