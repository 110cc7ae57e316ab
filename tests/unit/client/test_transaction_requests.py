"""What an answer means for a transaction: the table of producing/transaction_requests.py."""

import pytest

from engine.client.producing.transaction_requests import ErrorAction, action_for
from engine.errors import ErrorCode
from engine.wire.apis import Api

INIT, PARTITIONS, GROUP = Api.INIT_PRODUCER_ID, Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN
OFFSETS, END = Api.TXN_OFFSET_COMMIT, Api.END_TXN
ALL = (INIT, PARTITIONS, GROUP, OFFSETS, END)
FATAL, NEW_EPOCH, FIND, RETRY, ABORT, NONE = ErrorAction

TABLE = {
    "none": (NONE, NONE, NONE, NONE, NONE),
    "concurrent_transactions": (RETRY, RETRY, RETRY, RETRY, RETRY),
    "coordinator_load_in_progress": (RETRY, RETRY, RETRY, RETRY, RETRY),
    "not_coordinator": (FIND, FIND, FIND, FIND, FIND),
    "coordinator_not_available": (FIND, FIND, FIND, FIND, FIND),
    "unknown_topic_or_partition": (RETRY, RETRY, RETRY, RETRY, RETRY),
    "request_timed_out": (RETRY, RETRY, RETRY, FIND, RETRY),
    "unknown_producer_id": (FATAL, NEW_EPOCH, NEW_EPOCH, FATAL, NEW_EPOCH),
    "invalid_producer_id_mapping": (FATAL, NEW_EPOCH, NEW_EPOCH, FATAL, NEW_EPOCH),
    "producer_fenced": (FATAL, FATAL, FATAL, FATAL, FATAL),
    "invalid_producer_epoch": (FATAL, FATAL, FATAL, FATAL, FATAL),
    "invalid_txn_state": (FATAL, FATAL, FATAL, FATAL, FATAL),
    "transactional_id_authorization_failed": (FATAL, FATAL, FATAL, FATAL, FATAL),
    "invalid_transaction_timeout": (FATAL, ABORT, FATAL, FATAL, FATAL),
    "topic_authorization_failed": (FATAL, ABORT, FATAL, FATAL, FATAL),
    "group_authorization_failed": (FATAL, ABORT, ABORT, ABORT, FATAL),
    "unknown_member_id": (FATAL, ABORT, ABORT, ABORT, FATAL),
    "illegal_generation": (FATAL, ABORT, ABORT, ABORT, FATAL),
    "fenced_instance_id": (FATAL, ABORT, ABORT, ABORT, FATAL),
    "unknown_server_error": (FATAL, ABORT, FATAL, FATAL, FATAL),
}


@pytest.mark.parametrize("name", TABLE)
def test_each_code_means_what_the_table_says(name: str) -> None:
    code = ErrorCode[name]
    assert tuple(action_for(api, [code])[0] for api in ALL) == TABLE[name]


@pytest.mark.parametrize(
    ("codes", "action", "worst"),
    [
        (["none", "none"], NONE, "none"),
        (["operation_not_attempted", "unknown_topic_or_partition"], RETRY, None),
        (["operation_not_attempted", "topic_authorization_failed"], ABORT, None),
        (["topic_authorization_failed", "producer_fenced", "none"], FATAL, "producer_fenced"),
    ],
)
def test_of_several_the_worst_counts(
    codes: list[str], action: ErrorAction, worst: str | None
) -> None:
    found, code = action_for(PARTITIONS, [ErrorCode[name] for name in codes])
    assert found is action and code.name == (worst or codes[1])
