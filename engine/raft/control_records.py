"""The one record that a leader writes by itself: LeaderChange, the first of its epoch.

A control batch with one record. Its key has a version and a type, as that of a transaction's marker
(storage/control.py); its value is a message of Kafka's protocol, LeaderChangeMessage version 0:

    key     version 0 (2 bytes) | type 2 (2 bytes)
    value   version | leader | voters: id | granting voters: id
"""

from collections.abc import Iterable
from struct import Struct

from kio.schema.leader_change_message.v0.data import LeaderChangeMessage, Voter
from kio.schema.types import BrokerId
from kio.static.primitive import i16, i32

from engine.storage import records
from engine.storage.records import Record
from engine.wire.primitives import Draft
from engine.wire.writers import message_writer

LEADER_CHANGE = 2
CONTROL_KEY = Struct(">hh")


def leader_change(leader: int, voters: Iterable[int], granting: Iterable[int], now: int) -> bytes:
    """A batch whose offset and epoch are still to be assigned."""
    message = LeaderChangeMessage(
        version=i16(0),
        leader_id=BrokerId(leader),
        voters=tuple(Voter(voter_id=i32(voter)) for voter in sorted(voters)),
        granting_voters=tuple(Voter(voter_id=i32(voter)) for voter in sorted(granting)),
    )
    draft = Draft()
    message_writer(LeaderChangeMessage)(draft, message)
    record = Record(0, now, CONTROL_KEY.pack(0, LEADER_CHANGE), bytes(draft))
    return records.encode([record], control=True)
