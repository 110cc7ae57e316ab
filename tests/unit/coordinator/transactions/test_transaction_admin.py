"""ListTransactions and DescribeTransactions (KIP-664): what hangs, and whose it is."""

from itertools import count

import pytest
from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest
from kio.schema.list_transactions.v0.request import ListTransactionsRequest

from engine.coordinator.owned_partitions import partition_of
from engine.errors import ErrorCode
from tests.unit.coordinator.transactions.shell import (
    ELSEWHERE,
    ID,
    NEIGHBOUR,
    NONE,
    PARTITION,
    START,
    T0,
    T1,
    TIMEOUT,
    U0,
    Shell,
)


def listed(shell, states=(), producers=()):
    request = ListTransactionsRequest(state_filters=states, producer_id_filters=producers)
    return shell.answer(shell.ask(request, 0))


def rows(answer):
    return {each.transactional_id: each.transaction_state for each in answer.transaction_states}


def described(shell, *ids):
    request = DescribeTransactionsRequest(transactional_ids=ids)
    return shell.answer(shell.ask(request, 0)).transaction_states


def test_a_transaction_is_described_from_its_first_partition_to_its_end():
    shell = Shell()
    writer = shell.begin()
    shell.advance(500)
    shell.add(writer, T1, T0, U0)
    (row,) = described(shell, ID)
    assert (row.error_code, row.transactional_id, row.transaction_state) == (NONE, ID, "Ongoing")
    assert (row.producer_id, row.producer_epoch) == writer
    assert (row.transaction_timeout, row.transaction_start_time) == (TIMEOUT, START + 500)
    assert [(each.topic, each.partitions) for each in row.topics] == [("t", (0, 1)), ("u", (0,))]

    shell.end(writer, True)
    (row,) = described(shell, ID)
    assert (row.transaction_state, row.topics) == ("CompleteCommit", ())


def test_while_it_ends_its_partitions_are_those_without_a_marker():
    shell = Shell()
    writer = shell.begin()
    shell.add(writer, T0, U0)
    shell.markers = False
    shell.end(writer, True)
    (row,) = described(shell, ID)
    assert [each.topic for each in row.topics] == ["t", "u"]
    shell.mark(shell.marks[-1], T0)
    (row,) = described(shell, ID)
    assert (row.transaction_state, [each.topic for each in row.topics]) == ("PrepareCommit", ["u"])


def test_each_id_has_its_own_outcome():
    shell = Shell()
    shell.begin()
    others = (f"e{number}" for number in count())
    elsewhere = next(each for each in others if partition_of(each, 50) != PARTITION)
    codes = [each.error_code for each in described(shell, "", NEIGHBOUR, ID, elsewhere)]
    missing = ErrorCode.transactional_id_not_found
    assert codes == [ErrorCode.invalid_request, missing, NONE, ELSEWHERE]
    assert described(shell) == ()


def test_the_list_may_be_one_of_states_or_of_producers():
    shell = Shell()
    first, second = shell.begin(), shell.begin(id=NEIGHBOUR)
    shell.add(first, T0)
    assert rows(listed(shell)) == {ID: "Ongoing", NEIGHBOUR: "Empty"}
    assert rows(listed(shell, states=("Ongoing",))) == {ID: "Ongoing"}
    assert rows(listed(shell, producers=(second.producer_id,))) == {NEIGHBOUR: "Empty"}
    assert rows(listed(shell, ("Ongoing",), (second.producer_id,))) == {}


def test_a_state_that_there_is_not_is_named_and_selects_nothing():
    shell = Shell()
    shell.begin()
    answer = listed(shell, states=("Paused", "Bored", "Empty"))
    assert (answer.error_code, answer.unknown_state_filters) == (NONE, ("Bored", "Paused"))
    assert rows(answer) == {ID: "Empty"}
    assert rows(listed(shell, states=("Bored",))) == {}


@pytest.mark.parametrize("states", [(), ("Bored",)])
def test_while_a_partition_is_loaded_there_is_no_list(states):
    shell = Shell()
    shell.begin()
    shell.coordinator.load(PARTITION + 1, 1)
    answer = listed(shell, states)
    assert answer.error_code == ErrorCode.coordinator_load_in_progress
    assert (answer.transaction_states, answer.unknown_state_filters) == ((), ())
