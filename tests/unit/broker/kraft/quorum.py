"""A broker's view of a quorum that a test moves by hand: who leads, and what it answers."""

import asyncio
from types import SimpleNamespace

from engine.config.quorum import VoterAddress
from engine.metadata.image import MetadataImage
from engine.model import Callbacks

VOTERS = {101: VoterAddress("h", 1), 102: VoterAddress("h", 2)}


class FakeController:
    """A connection to a voter: it answers with what the test has put there."""

    def __init__(self, quorum, id):
        self._quorum, self.id = quorum, id
        self.closed = False

    async def ask(self, api, message):
        self._quorum.asked.append((self.id, api.name, message))
        self._quorum.asked_once.set()
        answer = await self._quorum.answers[self.id].get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self):
        self.closed = True


class FakeQuorum:
    def __init__(self, leader=101):
        self.asked, self.asked_once = [], asyncio.Event()
        self.answers = {id: asyncio.Queue() for id in VOTERS}
        self.voters = VOTERS
        self.loader = SimpleNamespace(image=MetadataImage())
        self.raft = SimpleNamespace(
            client=SimpleNamespace(leader=leader, is_leader=False, epoch=1, high_watermark=0),
            leader_changed=Callbacks(),
        )

    def connect(self, host, port, id, name, timeout_s):
        return FakeController(self, id)

    def answer(self, id, **fields):
        self.answers[id].put_nowait(SimpleNamespace(**fields))

    def elect(self, leader):
        self.raft.client.leader = leader
        self.raft.leader_changed()
