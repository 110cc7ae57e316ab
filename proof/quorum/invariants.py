"""The invariants of a quorum, which hold under all faults. Each is a function.

Most are those of Kafka's own simulation test (RaftEventSimulationTest) and of the TLA+ model of
KRaft (KRaft.tla). After each step of a node an invariant yields a text for each contradiction.
Those that hold only after all faults are mended are checked at the end (`AT_REST`).
"""

from collections.abc import Callable, Iterator

from engine.raft.leader import RaftLeader
from engine.raft.states import RaftState
from proof.quorum.node import QuorumNode
from proof.quorum.observed_quorum import ObservedQuorum
from proof.storms.invariants import Violation

QuorumInvariant = Callable[[ObservedQuorum, QuorumNode], Iterator[str]]
QuorumRestInvariant = Callable[[ObservedQuorum], Iterator[str]]

ROUNDED_MS = 3  # a node's clock and its timers are rounded to milliseconds


def check_disk(observed: ObservedQuorum, node: QuorumNode) -> None:
    """After a step of a node, and before its application reads what is new."""
    for invariant in ON_DISK:
        for text in invariant(observed, node):
            raise Violation(invariant.__name__, observed.world.clock.now, text)


def check_step(observed: ObservedQuorum, node: QuorumNode) -> None:
    """Raise the first contradiction after a step of a node."""
    for invariant in ALWAYS:
        for text in invariant(observed, node):
            raise Violation(invariant.__name__, observed.world.clock.now, text)


def check_rest(observed: ObservedQuorum) -> None:
    for invariant in AT_REST:
        for text in invariant(observed):
            raise Violation(invariant.__name__, observed.world.clock.now, text)


# -- at any time -----------------------------------------------------------------------------


def one_leader_an_epoch(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """An epoch belongs to one leader, whoever tells of it."""
    client = node.client
    assert client is not None
    if client.is_leader:
        observed.led_since.setdefault((node.id, client.epoch), node.now)
    if client.leader is not None:
        leader = observed.leaders.setdefault(client.epoch, client.leader)
        if leader != client.leader:
            yield f"epoch {client.epoch} has the leaders {leader} and {client.leader}"


def epochs_only_grow(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """The epoch that a node knows, also over its death."""
    assert node.client is not None
    was, now = observed.epochs.get(node.id, 0), node.client.epoch
    observed.epochs[node.id] = now
    if now < was:
        yield f"node {node.id} was in epoch {was} and is in epoch {now}"


def a_voter_votes_once(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """In an epoch a voter votes for one candidate, also if it died meanwhile."""
    assert node.client is not None
    epoch, _, voted = node.client.quorum.election
    if voted is not None:
        before = observed.votes.setdefault((node.id, epoch), voted)
        if before != voted:
            yield f"voter {node.id} voted for {before} and for {voted} in epoch {epoch}"


def high_watermarks_only_grow(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """That of a running node; and each leader's, over that of all leaders before."""
    client = node.client
    assert client is not None
    was = observed.marks.get((node.id, node.lives), 0)
    observed.marks[node.id, node.lives] = client.high_watermark
    if client.high_watermark < was:
        yield f"the high watermark of node {node.id} was {was} and is {client.high_watermark}"
    role = client.quorum.role
    mark = role.high_watermark if isinstance(role, RaftLeader) else None
    if mark is not None and client.epoch == max(observed.leaders):
        if mark < observed.last_mark:
            yield (
                f"a leader had the high watermark {observed.last_mark}, and leader {node.id} of "
                f"epoch {client.epoch} has {mark}"
            )
        observed.last_mark = mark


def the_mark_lies_in_the_leaders_epoch(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """A leader commits only with a record of its own epoch (figure 8 of the Raft paper)."""
    client = node.client
    assert client is not None
    role = client.quorum.role
    mark = role.high_watermark if isinstance(role, RaftLeader) else None
    if isinstance(role, RaftLeader) and mark is not None and mark <= role.epoch_start:
        yield (
            f"leader {node.id} of epoch {client.epoch}, which begins at {role.epoch_start}, "
            f"commits up to {mark}"
        )


def logs_agree_where_epochs_agree(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """An offset and an epoch belong to one batch, in all logs and at all times."""
    log = node.disk.log
    cuts, known = observed.checked_logs.get(node.id, (0, 0))
    if log.cuts != cuts:
        known = 0
    for header, data in log.batches[known:]:
        key = header.base_offset, header.leader_epoch
        if observed.written.setdefault(key, data) != data:
            yield f"node {node.id} has another batch at offset {key[0]} of epoch {key[1]}"
    observed.checked_logs[node.id] = log.cuts, len(log.batches)


def what_is_committed_stays(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """The applications of all nodes get the same records in the same order."""
    assert node.client is not None
    committed = observed.committed
    values, known = observed.checked_values.get(node.id, (node.values, 0))
    if values is not node.values:
        known = 0
    for offset in range(known, len(node.values)):
        value = node.values[offset]
        if offset == len(committed):
            committed.append(value)
            observed.committed_by = max(observed.committed_by, node.client.epoch)
        elif committed[offset] != value:
            yield f"offset {offset} is committed, and node {node.id} has something else there"
    observed.checked_values[node.id] = node.values, len(node.values)


def what_is_committed_is_on_a_majority(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """On the disks of a majority of the voters, where a power cut leaves it."""
    end = len(observed.committed)
    if end > observed.checked_majority:
        ends = [observed.durable_end(voter) for voter in observed.world.voters]
        if sum(each >= end for each in ends) < node.identity.majority:
            yield f"everything before {end} is committed, and the voters' disks have {ends}"
        observed.checked_majority = end


def a_new_leader_has_what_is_committed(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """The log of each new leader begins with all that was committed before."""
    client = node.client
    assert client is not None
    if not client.is_leader or (node.id, client.epoch) in observed.checked_leaders:
        return
    observed.checked_leaders.add((node.id, client.epoch))
    log, end = node.disk.log, len(observed.committed)
    if client.epoch < observed.committed_by or end <= log.first_offset:
        return
    place = log.before(end) - 1
    has_it = log.end_offset >= end and log.batches[place].data == observed.committed[-1]
    if not has_it:
        yield (
            f"leader {node.id} of epoch {client.epoch} has a log up to {log.end_offset}, and not "
            f"all that is committed before {end}"
        )


def what_was_acknowledged_is_committed(observed: ObservedQuorum, node: QuorumNode) -> Iterator[str]:
    """The leader's application takes a record for committed when the mark is beyond it."""
    client = node.client
    assert client is not None
    waiting = []
    for record in observed.pending:
        if record.node != node.id:
            waiting.append(record)
        elif (record.life, record.epoch) == (node.lives, client.epoch) and client.is_leader:
            if client.high_watermark <= record.offset:
                waiting.append(record)
                continue
            observed.acknowledged.append(record)
            if record.value not in observed.committed[record.offset]:
                yield f"{record.value.decode()} was acknowledged at offset {record.offset}"
    observed.pending = waiting


def snapshots_have_all_that_is_committed(
    observed: ObservedQuorum, node: QuorumNode
) -> Iterator[str]:
    """A snapshot is what all records before its end come to, wherever it was copied to."""
    for id, data in node.disk.snapshots.whole.items():
        if observed.checked_snapshots.get((node.id, id)) is not data:
            observed.checked_snapshots[node.id, id] = data
            if data != b"".join(observed.committed[: id.offset]):
                yield f"node {node.id} has a snapshot {id.offset}-{id.epoch} with other records"


def a_leader_without_a_majority_resigns(
    observed: ObservedQuorum, node: QuorumNode
) -> Iterator[str]:
    """A period of 1.5 fetch timeouts on its clock ends with the fetches of a majority, each of
    which is from this period: so none of them is older than two such periods."""
    assert node.client is not None
    if node.client.is_leader:
        silence = node.now - observed.quorum_heard_at(node)
        if silence > node.config.fetch_timeout_ms * 3 + ROUNDED_MS:
            yield f"leader {node.id} of epoch {node.client.epoch} has no majority for {silence} ms"


# -- in the end ------------------------------------------------------------------------------


def all_follow_one_leader(observed: ObservedQuorum) -> Iterator[str]:
    leader = observed.world.leader
    if leader is None or leader.client is None:
        yield "nobody leads"
        return
    for node in observed.world.nodes.values():
        if node is not leader:
            client = node.client
            if client is None or client.state is not RaftState.FOLLOWER:
                yield f"node {node.id} follows nobody"
            elif (client.epoch, client.leader) != (leader.client.epoch, leader.id):
                yield f"node {node.id} follows {client.leader} in epoch {client.epoch}"


def all_have_all_that_was_written(observed: ObservedQuorum) -> Iterator[str]:
    """All logs end at the same offset, and all of it is committed and applied everywhere."""
    for node in observed.world.nodes.values():
        end = node.disk.log.end_offset
        if not node.applied == end == len(observed.committed):
            yield (
                f"node {node.id} has a log up to {end} and applied {node.applied} of "
                f"{len(observed.committed)} committed records"
            )
    if observed.pending:
        yield f"{len(observed.pending)} records wait for their commit"


ON_DISK: tuple[QuorumInvariant, ...] = (
    logs_agree_where_epochs_agree,
    snapshots_have_all_that_is_committed,
)
ALWAYS: tuple[QuorumInvariant, ...] = (
    one_leader_an_epoch,
    epochs_only_grow,
    a_voter_votes_once,
    the_mark_lies_in_the_leaders_epoch,
    what_is_committed_stays,
    what_is_committed_is_on_a_majority,
    high_watermarks_only_grow,
    a_new_leader_has_what_is_committed,
    what_was_acknowledged_is_committed,
    a_leader_without_a_majority_resigns,
)
AT_REST: tuple[QuorumRestInvariant, ...] = (
    all_follow_one_leader,
    all_have_all_that_was_written,
)
