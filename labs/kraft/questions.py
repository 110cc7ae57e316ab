"""The questions of 10_kraft. Read it after you have made your guesses.

Each question has a function beside it that says, from what the engine did, which answer came true.
"""

from collections.abc import Collection, Mapping, Sequence

from proof.quorum.simulated_quorum import SimulatedQuorum
from widgets import Predict

LOWEST, EARLIEST, ASKED = (
    "The one with the lowest id",
    "The one whose timeout ends first",
    "The one that started first",
)


def election() -> Predict:
    return Predict(
        "Three controllers start with empty logs. Nobody leads yet. Which one will?",
        {
            LOWEST: "Ids play no part in it. Who asks first has a good chance.",
            EARLIEST: "Each waits for a time drawn at random, then asks for votes. The others had "
            "not voted yet, and had nothing against it.",
            ASKED: "What counts is whose random timeout ends first. That is not always the one "
            "that started first.",
        },
        hint="Nobody is there to say who is right. What could make one of them the first to ask?",
    )


def elected(quorum: SimulatedQuorum) -> str:
    """By the run: who started first, who stood for election first, who leads."""
    starts = [event for event in quorum.film.events if event.kind == "started"]
    stood = next(event for event in quorum.film.events if event.kind == "candidate")
    first, candidate = starts[0].nodes[0], stood.nodes[0]
    if quorum.leader == candidate:
        return EARLIEST
    return ASKED if quorum.leader == first else LOWEST


BOTH, LOWER, NEXT = (
    "Both: each with one vote of the third",
    "The one with the lower id",
    "Neither: the epoch ends without a leader",
)


def split() -> Predict:
    return Predict(
        "Of three controllers one is dead. The two that are left ask for votes at the same moment, "
        "in the same epoch. Who leads that epoch?",
        {
            BOTH: "A controller votes once in an epoch, and both have voted for themselves.",
            LOWER: "No rule prefers an id. Each has one vote, and two are needed.",
            NEXT: "Each has voted for itself. They wait for a time drawn at random, and the one "
            "that begins the next epoch first is elected.",
        },
        hint="How many votes are needed, and how many can be given in one epoch?",
    )


def was_split(leader: int | None, later: int | None) -> str | None:
    """Who led the epoch in which both stood, and who led in the end. If somebody did, only one
    has asked."""
    return NEXT if leader is None and later is not None else None


STAYS, GONE, TWICE = (
    "It is in all three logs",
    "It is in no log",
    "The old leader keeps it, the others do not have it",
)


def uncommitted() -> Predict:
    return Predict(
        "The leader is cut off from the other two, and writes one more record. The two elect a "
        "leader, which writes another record. Then the cut is healed. Where is the record of the "
        "old leader?",
        {
            STAYS: "Nobody copied it in time, and the new leader wrote another record at that "
            "offset.",
            GONE: "It was on one disk of three. The old leader follows now, and truncates its log "
            "to where both logs are the same.",
            TWICE: "A follower asks with its offset and epoch. The leader sees that its own log "
            "differs there, and says where to cut.",
        },
        hint="On how many disks was it? And whose log is the right one?",
    )


def kept(logs: Mapping[int, list[str]], record: str) -> str:
    having = [id for id, log in logs.items() if record in log]
    return STAYS if len(having) == len(logs) else TWICE if having else GONE


NONE, ONE, TWO = "None more: one, as with three", "One more: two", "Two more: three"


def majority() -> Predict:
    return Predict(
        "With three controllers one may die, and the other two go on. You add a fourth. How many "
        "may die now?",
        {
            NONE: "Of four, three are a majority. With two dead nobody is elected.",
            ONE: "Two of four are half of them, and no majority: the other half could be alive on "
            "the other side of a cut, and elect a leader, too.",
            TWO: "One of four would be alone, and cannot know whether the others are dead.",
        },
        hint="How many of four are more than half?",
    )


def survived(deaths: Mapping[int, int]) -> str:
    """`deaths`: of so many controllers, how many may die."""
    return {0: NONE, 1: ONE, 2: TWO}[deaths[4] - deaths[3]]


WAITS, DISTURBS, REFUSED = (
    "It follows, and nobody notices",
    "The others lose their leader, and all elect anew",
    "It is left out: its epoch is another one",
)


def back() -> Predict:
    return Predict(
        "One of three controllers is cut off for five seconds. The other two have a leader, and "
        "need nobody else. Then the cut is healed. What happens?",
        {
            WAITS: "It has stood for election again and again, and its epoch has grown. The others "
            "hear of a newer epoch, in which their leader does not lead.",
            DISTURBS: "Alone it began one epoch after the other. An older epoch counts for "
            "nothing: the leader steps down, and there is an election that nobody needed.",
            REFUSED: "A newer epoch is never refused: whoever hears of one enters it.",
        },
        hint="What does a controller do that hears from no leader? And how does one know an old "
        "leader?",
    )


def came_back(epoch: int, quorum: SimulatedQuorum, who: int) -> str:
    """`epoch`: that of the two, before the cut was healed."""
    if quorum.epoch == epoch:
        return WAITS
    return DISTURBS if quorum.node(who).leader == quorum.leader else REFUSED


FIRST, SNAPSHOT, NOTHING = (
    "All records from the first one on",
    "A snapshot, and the records after it",
    "Nothing: it asks the leader for what it needs",
)


def behind() -> Predict:
    return Predict(
        "A broker reads the controllers' log. It was down for a long time; meanwhile the leader "
        "has written a snapshot and deleted the records before it. What does the broker read?",
        {
            FIRST: "They are gone: that is what the snapshot was for.",
            SNAPSHOT: "It asks for an offset before the start of the log, and is told which "
            "snapshot to fetch.",
            NOTHING: "A broker has all metadata in its memory. It reads the log, and asks nobody.",
        },
        hint="A log of changes grows forever. What has the same meaning, and is shorter?",
    )


def read(snapshots: int, offset: int) -> str:
    return SNAPSHOT if snapshots else FIRST if offset else NOTHING


ONE_RECORD, EACH, NONE_WRITTEN = (
    "One: the topic with all that it has",
    "Three: the topic, and each of its two partitions",
    "None: a topic is no change of the cluster",
)


def topic() -> Predict:
    return Predict(
        "A topic with two partitions is created. How many records does the active controller "
        "write?",
        {
            ONE_RECORD: "A record is a change of one thing: later ones will be about one "
            "partition, a new leader for instance.",
            EACH: "They stand in one batch, which is on the disk as a whole or not at all. With "
            "ZooKeeper it was a znode, and one more for each partition.",
            NONE_WRITTEN: "What is not in this log does not exist: brokers read nothing else.",
        },
        hint="What can change later, each for itself?",
    )


def written(kinds: Collection[str]) -> str:
    kinds = [kind for kind in kinds if kind in ("Topic", "Partition")]
    return {0: NONE_WRITTEN, 1: ONE_RECORD}.get(len(kinds), EACH)


SESSIONS, FETCHES, MINUTES = (
    "A few seconds: as long as a session",
    "About a fetch timeout, two seconds",
    "At once: the others see its connection break",
)


def active() -> Predict:
    return Predict(
        "The active controller is killed. How long is there no other one?",
        {
            SESSIONS: "There is no session here, and nobody keeps one for a controller. With "
            "ZooKeeper it was one: 18 seconds by default.",
            FETCHES: "The others fetch from it all the time. Without an answer for "
            "controller.quorum.fetch.timeout.ms, one of them asks for votes.",
            MINUTES: "A connection breaks for many reasons. They try again, until the fetch "
            "timeout is over.",
        },
        hint="By what do the other controllers notice? They copy a log, as followers do.",
    )


def took(seconds: float, fetch_timeout: float) -> str:
    """A killed process closes its connections: that alone would be noticed within a moment."""
    if seconds < fetch_timeout / 4:
        return MINUTES
    return FETCHES if seconds < 3 * fetch_timeout else SESSIONS


LEADS_ON, STEPS_DOWN, ASKS = (
    "It leads on: nobody told it otherwise",
    "It leads nothing any more, and is in no ISR",
    "It asks each producer to wait",
)


def silent() -> Predict:
    return Predict(
        "A broker is paused for longer than its session. The others go on. What does it do when it "
        "wakes?",
        {
            LEADS_ON: "For a moment it does. But it reads the log from where it was, and "
            "finds there who leads now.",
            STEPS_DOWN: "The controller has fenced it, and named other leaders. It reads that in "
            "the log, follows, and is unfenced when it has caught up.",
            ASKS: "It answers NOT_LEADER_OR_FOLLOWER, and they ask for the leader.",
        },
        hint="What was written to the log while it slept? And what does a broker read first?",
    )


def woke(leads: Collection[int], fenced: Collection[int], broker: int) -> str:
    """`leads`: who leads each partition, after it woke; `fenced`: while it slept."""
    return LEADS_ON if broker in leads or broker not in fenced else STEPS_DOWN


TWO_IN_BOTH, THREE_AND_TWO, ONE_IN_BOTH = (
    "2 in both",
    "3 with ZooKeeper, 2 with the quorum",
    "1 in both",
)


def deaths() -> Predict:
    return Predict(
        "The leader epoch of the partition is 0. A follower dies and comes back, and then the "
        "leader dies. How far is the epoch in the end?",
        {
            TWO_IN_BOTH: "Each death raises it. But with ZooKeeper the leader was the controller, "
            "too, and its successor decides twice.",
            THREE_AND_TWO: "Each decision about the partition raises it by one. With ZooKeeper the "
            "next controller first takes the dead leader out of the ISR, and then elects.",
            ONE_IN_BOTH: "The death of a follower is a decision, too: the controller takes it out "
            "of the ISR.",
        },
        hint="How many decisions does each death take?",
    )


def decided(zookeeper: int, quorum: int) -> str:
    """The outcome of deaths(), by the leader epochs with ZooKeeper and without."""
    if zookeeper > quorum:
        return THREE_AND_TWO
    return TWO_IN_BOTH if quorum > 1 else ONE_IN_BOTH


BOTH_SHRINK, ONLY_WITH, NEITHER = (
    "In both: the leader decides it alone",
    "Only in the one with ZooKeeper",
    "In neither: a controller has to agree",
)


def shrinks() -> Predict:
    return Predict(
        "The follower sleeps for 5 seconds, and so do the controllers. Where does it leave the "
        "ISR?",
        {
            BOTH_SHRINK: "The leader decides it in both, but it has to be written somewhere. In a "
            "quorum only the active controller writes.",
            ONLY_WITH: "There the leader writes the znode itself. In a quorum it asks a "
            "controller, and all of them sleep.",
            NEITHER: "Up to Kafka 2.6 no controller was asked: the leader wrote into ZooKeeper, "
            "which is awake here.",
        },
        hint="Where is the ISR kept in each cluster? Who may write there?",
    )


def shrunk(zookeeper: int, quorum: int) -> str:
    """By the sizes of the two ISRs, of two replicas."""
    if zookeeper > 1:
        return NEITHER
    return ONLY_WITH if quorum > 1 else BOTH_SHRINK


REFUSED_BOTH, LOST_BOTH, LOST_WITH, LOST_WITHOUT = (
    "In neither: it refuses, as another one leads",
    "In both: it is acknowledged, and lost",
    "Only in the one with ZooKeeper",
    "Only in the one with a quorum",
)


def wakes() -> Predict:
    return Predict(
        "A leader sleeps, another one is elected, and a record with acks=1 waits in the old one's "
        "socket. It wakes. In which cluster is the record acknowledged, and lost afterwards?",
        {
            REFUSED_BOTH: "It refuses what it knows to be wrong. But who would have told it, while "
            "it slept?",
            LOST_BOTH: "Each serves what waits in its sockets before it has heard of its "
            "successor, and truncates the record when it follows. acks=1 waits for nobody else.",
            LOST_WITH: "A quorum fences the broker, but the broker has to read that first.",
            LOST_WITHOUT: "Its session with ZooKeeper is over, but it has to hear that first.",
        },
        hint="What does a process know that was asleep? What does it do first when it wakes?",
    )


def woken(clusters: Sequence[tuple[Collection[str], Collection[str]]]) -> str:
    """By what was acknowledged, and what is there: with ZooKeeper, then in a quorum."""
    lost = ["with acks=1" in heard and "with acks=1" not in there for heard, there in clusters]
    told = {(True, True): LOST_BOTH, (True, False): LOST_WITH, (False, True): LOST_WITHOUT}
    return told.get(tuple(lost), REFUSED_BOTH)


ALL_STOPS, RECORDS_GO, ALL_GOES = (
    "Nothing: a cluster without controllers is no cluster",
    "Records go on, and nothing else",
    "Everything: one controller is left",
)


def minority() -> Predict:
    return Predict(
        "Two of three controllers are dead. What still works?",
        {
            ALL_STOPS: "Brokers have all metadata in memory, and leaders need no permission.",
            RECORDS_GO: "Leaders lead on. But no topic is created, and nobody is elected, until a "
            "majority is back.",
            ALL_GOES: "One of three is no majority: it may write nothing that counts.",
        },
        hint="Which of these need a record in the log, and which do not?",
    )


def lives(stored: bool, created: bool) -> str:
    return ALL_GOES if created else RECORDS_GO if stored else ALL_STOPS


EMPTY, RECORDS, ADDRESSES = (
    "Only its id and the cluster's id",
    "Ids, and a first piece of the log",
    "Ids, and the addresses of all controllers",
)


def formatted() -> Predict:
    return Predict(
        "Before a controller starts for the first time, an administrator formats its directory. "
        "What is in it then?",
        {
            EMPTY: "They are in meta.properties. But somebody has to say which records the cluster "
            "may use, and the first controller that leads has nobody to ask.",
            RECORDS: "bootstrap.checkpoint has one record: the level of the metadata. The first "
            "leader writes it to the log before anything else.",
            ADDRESSES: "They are in each process's own configuration (controller.quorum.voters).",
        },
        hint="With ZooKeeper the first broker finds an empty tree. What must the first leader of a "
        "new log know?",
    )


def found(files: Collection[str], properties: str) -> str:
    if "controller.quorum.voters" in properties:
        return ADDRESSES
    return RECORDS if "bootstrap.checkpoint" in files else EMPTY


IN_TREE, IN_LOG, IN_BOTH = (
    "Only in ZooKeeper, which all brokers still read",
    "Only in the controllers' log: they lead now",
    "In the controllers' log, and then in ZooKeeper",
)


def dual_writes() -> Predict:
    return Predict(
        "The controllers of KRaft have taken over, and all brokers still use ZooKeeper. A topic is "
        "created. Where is it written?",
        {
            IN_TREE: "The controllers decide by their log: what is not in it does not exist for "
            "them.",
            IN_LOG: "It would do for KRaft. But then nobody could go back: ZooKeeper would be old "
            "at once.",
            IN_BOTH: "The log decides, and the leader of the quorum writes each change to the tree "
            "after it: dual writes. So the way back stays open.",
        },
        hint="Who decides now? And what would an administrator need who wants to go back?",
    )


def wrote(places: Sequence[str]) -> str:
    """`places`: where the topic was written, in order."""
    return {("log", "tree"): IN_BOTH, ("log",): IN_LOG}.get(tuple(places), IN_TREE)


ONE_BY_ONE, ACTIVE_ONE, NO_NODE = (
    "Each node, one after the other",
    "The active controller: its successor begins at the new level",
    "None of them",
)


def raised() -> Predict:
    return Predict(
        "All nodes run the new release, and an administrator raises the level of the metadata. "
        "Which of them have to be restarted?",
        {
            ONE_BY_ONE: "They were, for the new release. The level is no setting of theirs: they "
            "read it from the log.",
            ACTIVE_ONE: "It writes the record of the new level as it writes any other one, and "
            "goes by it, too.",
            NO_NODE: "The level is a record in the log, and whoever reads the log goes by it from "
            "there on.",
        },
        hint="In section 7 the first level stood in a file. In which form? Where was it copied?",
    )


def rose(restarted: Collection[int], written: Sequence[tuple[str, Collection[str]]]) -> str:
    """`written`: the level, and what was written when a broker slept: before and after."""
    (before, _), (after, _) = written
    if before == after:
        return ONE_BY_ONE
    return NO_NODE if not restarted else ACTIVE_ONE if len(restarted) == 1 else ONE_BY_ONE
