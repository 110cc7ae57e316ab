"""The simulator's ZooKeeper against the real one: the same scripts, the same transcripts.

A script is a list of steps, each by one of three sessions: questions, or the session's end. A
transcript has, for each step, what every session heard, in order. Two things can't be the same:
czxids, of which only the order is compared, and the order of what a session's end sets off.
"""

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kazoo.client import KazooClient

from engine.cluster.zookeeper import ZookeeperServer
from engine.sim.clock import Clock
from engine.sim.zookeeper import Zookeeper
from engine.zookeeper.client import SessionState, ZookeeperClient
from engine.zookeeper.requests import (
    NEVER,
    CheckVersion,
    Children,
    Create,
    Created,
    Delete,
    Exists,
    Get,
    Multi,
    Set,
    Stat,
    ZnodeData,
)
from tests.interop.session_end import end_session
from tests.search import examples

SESSIONS = 3
CLOSE, EXPIRE = "close", "expire"


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    """Addresses on the real one, each with a tree of its own."""
    with ZookeeperServer(tmp_path_factory.mktemp("zookeeper")) as server:
        client = KazooClient(server.address)
        client.start()

        def made():
            for number in itertools.count():
                client.create(f"/{number}")
                yield f"{server.address}/{number}"

        yield made()
        client.stop()
        client.close()


class Heard:
    """By one session, since the last step; `owners` has a name for every session's life."""

    def __init__(self, name, owners):
        self.entries = []
        self.lives = 0
        self._name, self._owners = name, owners

    def begins(self, session_id):
        self.lives += 1
        self._owners[session_id] = f"{self._name}.{self.lives}"

    def changed(self, changed):
        self.entries.append(changed)

    def answers(self, answers):
        assert answers is not None
        self.entries.append([named(answer, self._owners) for answer in answers])

    def take(self, ended):
        entries, self.entries = self.entries, []
        return sorted(set(entries)) if ended else entries


def named(answer, owners):
    match answer:
        case Stat(owner=owner):
            return answer._replace(owner=owners[owner] if owner else owner, ctime=NEVER)
        case ZnodeData(stat=stat):
            return answer._replace(stat=named(stat, owners))
    return answer


async def real(script, address):
    owners: dict = {}
    heard = [Heard(who, owners) for who in range(SESSIONS)]
    clients, events = [None] * SESSIONS, [asyncio.Queue() for _ in range(SESSIONS)]

    async def begin(who):
        clients[who] = ZookeeperClient(address, 10.0, events[who].put_nowait)
        await clients[who].connect(20)
        heard[who].begins((await events[who].get()).session_id)

    async def end(who, how):
        if how == CLOSE:
            await clients[who].close()
            return await begin(who)
        ended = clients[who].session_id
        await asyncio.to_thread(end_session, address, clients[who])
        # The copy takes the session away for a moment, and the client may connect to it again.
        while (event := await events[who].get()).state is not SessionState.CONNECTED or (
            event.session_id == ended
        ):
            pass
        heard[who].begins(event.session_id)

    for who in range(SESSIONS):
        await begin(who)
    transcript = []
    try:
        for who, what in script:
            if isinstance(what, str):
                await end(who, what)
            else:
                heard[who].answers(await clients[who].ask(what, heard[who].changed))
            for client in clients:
                await client.ask([Exists("/")])  # all that was to be heard before is heard now
            transcript.append([each.take(isinstance(what, str)) for each in heard])
    finally:
        await asyncio.gather(*(client.close() for client in clients))
    return transcript


def modelled(script):
    owners: dict = {}
    heard = [Heard(who, owners) for who in range(SESSIONS)]
    model = Zookeeper(Clock())

    def begin(who):
        session = model.connect(10_000, heard[who].changed)
        heard[who].begins(session.number)
        return session

    sessions = [begin(who) for who in range(SESSIONS)]
    transcript = []
    for who, what in script:
        if isinstance(what, str):
            sessions[who].close() if what == CLOSE else sessions[who].expire()
            sessions[who] = begin(who)
        else:
            sessions[who].ask(what, heard[who].answers)
        transcript.append([each.take(isinstance(what, str)) for each in heard])
    return transcript


def ranked(transcript):
    """With the czxids' places in their order instead of the czxids."""
    seen = set()

    def replaced(thing, new):
        match thing:
            case Stat() | Created():
                return thing._replace(czxid=new(thing.czxid))
            case ZnodeData():
                return thing._replace(stat=replaced(thing.stat, new))
            case list():
                return [replaced(each, new) for each in thing]
            case tuple() if type(thing) is tuple:
                return tuple(replaced(each, new) for each in thing)
        return thing

    replaced(transcript, lambda czxid: seen.add(czxid) or czxid)
    places = {czxid: place for place, czxid in enumerate(sorted(seen - {0}), 1)} | {0: 0}
    return replaced(transcript, places.__getitem__)


def compare(script, roots):
    expected = ranked(asyncio.run(real(script, next(roots))))
    assert ranked(modelled(script)) == expected
    return expected


SCRIPTS = {
    "what is written can be read": [
        (0, [Create("/a", b"1"), Get("/a"), Exists("/a"), Set("/a", b"2"), Get("/a"), Get("/b")]),
        (1, [Exists("/b"), Children("/"), Children("/a"), Children("/b"), Delete("/a"), Get("/a")]),
        (1, [Create("/a"), Get("/a"), Create("/a/b"), Create("/a/a"), Children("/a")]),
    ],
    "a version must be the one that is there": [
        (0, [Create("/a"), Set("/a", b"", 0), Set("/a", b"", 0), Set("/a", b"", 1)]),
        (
            0,
            [
                CheckVersion("/a", 2),
                CheckVersion("/a", 1),
                CheckVersion("/a", -1),
                CheckVersion("/b", -1),
                CheckVersion("/b", 0),
            ],
        ),
        (1, [Delete("/a", 1), Delete("/a", 2), Delete("/a", 2), Set("/a", b"", -1)]),
        (1, [Create("/a"), Get("/a"), Set("/a", b"x", 0)]),
    ],
    "why not: one reason comes before another": [
        (0, [Create("/a/b"), Create("/a"), Create("/a"), Create("/a/b"), Delete("/a", 7)]),
        (0, [Delete("/a"), Delete("/a/b/c", 3), Delete("/b"), Create("/b/c/d", sequence=True)]),
    ],
    "missing parents are made, and those that are there are left alone": [
        (0, [Children("/", watch=True), Create("/a/b/c", b"c", parents=True), Get("/a/b")]),
        (1, [Set("/a", b"1"), Create("/a/b/d/e", parents=True), Get("/a"), Children("/a/b")]),
        (1, [Create("/a/b/c", parents=True), Get("/a/b/c")]),
    ],
    "a sequence counts all children that its parent ever had": [
        (0, [Create("/a"), Create("/b"), Create("/a/n_", sequence=True), Create("/a/other")]),
        (1, [Create("/a/m_", sequence=True), Create("/b/n_", sequence=True), Delete("/a/other")]),
        (0, [Create("/a/n_", sequence=True, ephemeral=True), Create("/a/other")]),
        (0, [Create("/a/other"), Create("/a/n_", sequence=True), Children("/a")]),
        (0, CLOSE),
        (1, [Multi((Create("/a/n_", sequence=True), CheckVersion("/a", 9)))]),
        (1, [Multi((Create("/a/n_", sequence=True), Create("/a/n_", sequence=True)))]),
        (1, [Create("/a/n_", sequence=True), Children("/a"), Create("/n_", sequence=True)]),
    ],
    "a transaction is done, or not done at all": [
        (1, [Create("/a"), Create("/b"), Get("/a", watch=True), Children("/", watch=True)]),
        (0, [Multi((Create("/c"), Set("/a", b"1", 0), Delete("/b"), CheckVersion("/a", 0)))]),
        (0, [Children("/"), Get("/a"), Multi((Create("/b"), Create("/c"))), Multi(())]),
        (0, [Multi((Create("/c", b"c"), Set("/a", b"1", 0), CheckVersion("/a", 1), Delete("/b")))]),
        (0, [Multi((Delete("/c"), Create("/c", b"d"), Create("/c/d"), Delete("/c/d")))]),
        (0, [Multi((Create("/x"), Delete("/c"), Delete("/none"), Create("/y")))]),
        (2, [Children("/"), Get("/c"), Multi((Create("/c/e"), Delete("/c")))]),
        (2, [Multi((Create("/p"), Create("/q"))), Exists("/p"), Exists("/q"), Exists("/c")]),
    ],
    "a watch fires once, before its change is seen": [
        (0, [Create("/a"), Get("/a", watch=True), Get("/a", watch=True), Exists("/a", watch=True)]),
        (0, [Set("/a", b"1"), Get("/a"), Set("/a", b"2"), Get("/a", watch=True)]),
        (1, [Set("/a", b"3"), Set("/a", b"4")]),
        (0, [Get("/a"), Get("/a", watch=True), Children("/a", watch=True)]),
        (1, [Create("/a/b"), Create("/a/c")]),
        (1, [Set("/a", b"5")]),
    ],
    "one who waits for a node": [
        (0, [Exists("/a", watch=True), Get("/a", watch=True), Children("/a", watch=True)]),
        (2, [Children("/", watch=True), Get("/b", watch=True), Children("/b", watch=True)]),
        (1, [Create("/b"), Create("/a"), Set("/a", b"")]),
        (0, [Exists("/a", watch=True), Children("/a", watch=True), Get("/b", watch=True)]),
        (1, [Delete("/a"), Delete("/b"), Create("/a")]),
    ],
    "deleted: one word to each who watched, and to the parent's watchers": [
        (0, [Create("/a"), Create("/a/b"), Get("/a/b", watch=True), Children("/a/b", watch=True)]),
        (1, [Children("/a/b", watch=True), Children("/a", watch=True), Get("/a", watch=True)]),
        (2, [Delete("/a/b"), Create("/a/b"), Delete("/a/b"), Delete("/a")]),
    ],
    "what a transaction sets off": [
        (0, [Create("/a"), Create("/b"), Get("/a", watch=True), Get("/b", watch=True)]),
        (0, [Children("/", watch=True), Exists("/c", watch=True)]),
        (1, [Multi((Set("/a", b""), Create("/c"), Delete("/none")))]),
        (1, [Multi((Set("/b", b""), Create("/c"), Delete("/a"), Create("/a"), Set("/c", b"")))]),
    ],
    "an ephemeral node goes with its session": [
        (0, [Create("/a"), Create("/a/e", b"0", ephemeral=True), Create("/f", ephemeral=True)]),
        (1, [Create("/e", ephemeral=True), Get("/a/e", watch=True), Children("/", watch=True)]),
        (2, [Exists("/f", watch=True), Children("/a", watch=True), Get("/a/e"), Get("/f")]),
        (0, EXPIRE),
        (1, [Get("/a/e"), Children("/"), Children("/a"), Create("/a/e", ephemeral=True)]),
        (0, [Exists("/a/e", watch=True), Get("/a/e"), Create("/f", ephemeral=True), Get("/f")]),
        (1, CLOSE),
        (0, [Get("/a/e"), Children("/")]),
    ],
    "an ephemeral node may go before, and come in a transaction": [
        (0, [Create("/e", ephemeral=True), Multi((Delete("/e"), Create("/e")))]),
        (0, [Multi((Create("/f", ephemeral=True), Create("/n_", b"", True, True)))]),
        (1, [Exists("/f", watch=True), Set("/f", b"x"), Delete("/f", 1)]),
        (0, CLOSE),
        (1, [Children("/"), Get("/e"), Get("/f")]),
    ],
    "watches end with the session, and are told so": [
        (0, [Create("/a"), Get("/a", watch=True), Children("/a", watch=True)]),
        (0, [Exists("/none", watch=True), Children("/", watch=True)]),
        (0, EXPIRE),
        (1, [Set("/a", b""), Create("/a/b"), Create("/none")]),
        (1, [Get("/a", watch=True)]),
        (1, CLOSE),
        (0, [Set("/a", b"1")]),
    ],
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_goes_as_on_the_real_one(roots, name):
    compare(SCRIPTS[name], roots)


# Of these some are there and some are not, and so chance meets every rule.
NODES = st.sampled_from(["/a", "/b", "/a/b", "/a/b/c"])
LEAVES = st.sampled_from(["/e", "/a/e", "/b/e"])  # ephemeral ones have no children
SEQUENCES = st.sampled_from(["/n_", "/a/n_", "/a/b/m_"])
PATHS = st.one_of(NODES, LEAVES, st.sampled_from(["/a/n_0000000000", "/a/n_0000000001"]))
VERSIONS = st.sampled_from([-1, -1, 0, 1, 2])
DATA = st.sampled_from([b"", b"x", b"yy"])
NO, YES = st.just(False), st.just(True)
CREATES = st.one_of(
    st.builds(Create, NODES, DATA, NO, NO, NO),
    st.builds(Create, LEAVES, DATA, YES, NO, NO),
    st.builds(Create, SEQUENCES, DATA, st.booleans(), YES, NO),
)
WRITES = st.one_of(
    CREATES,
    st.builds(Set, PATHS, DATA, VERSIONS),
    st.builds(Delete, PATHS, VERSIONS),
    st.builds(CheckVersion, PATHS, VERSIONS),
)
READS = st.one_of(
    st.builds(Get, PATHS, st.booleans()),
    st.builds(Exists, PATHS, st.booleans()),
    st.builds(Children, st.one_of(st.just("/"), NODES), st.booleans()),
)
ASKS = st.one_of(
    WRITES,
    READS,
    st.builds(Create, st.sampled_from(["/a/b", "/a/b/c"]), DATA, NO, NO, YES),
    st.builds(Multi, st.lists(WRITES, min_size=1, max_size=4).map(tuple)),
)
STEPS = st.tuples(
    st.integers(0, SESSIONS - 1),
    st.one_of(*[st.lists(ASKS, min_size=1, max_size=6)] * 12, st.just(CLOSE), st.just(EXPIRE)),
)


@examples(25)
@given(st.lists(STEPS, min_size=4, max_size=20))
def test_any_script_goes_as_on_the_real_one(roots, script):
    compare(script, roots)
