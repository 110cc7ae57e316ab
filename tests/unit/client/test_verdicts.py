"""What an answer means for a transaction: the table of producing/verdicts.py."""

import pytest

from engine.client.producing.verdicts import Verdict, judge
from engine.errors import ErrorCode
from engine.wire.apis import Api

INIT, PARTITIONS, GROUP = Api.INIT_PRODUCER_ID, Api.ADD_PARTITIONS_TO_TXN, Api.ADD_OFFSETS_TO_TXN
OFFSETS, END = Api.TXN_OFFSET_COMMIT, Api.END_TXN
ALL = (INIT, PARTITIONS, GROUP, OFFSETS, END)
FATAL, RENEW, ELSEWHERE, AGAIN, ABORT, GOOD = Verdict

TABLE = {
    "none": (GOOD, GOOD, GOOD, GOOD, GOOD),
    "concurrent_transactions": (AGAIN, AGAIN, AGAIN, AGAIN, AGAIN),
    "coordinator_load_in_progress": (AGAIN, AGAIN, AGAIN, AGAIN, AGAIN),
    "not_coordinator": (ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE),
    "coordinator_not_available": (ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE, ELSEWHERE),
    "unknown_topic_or_partition": (AGAIN, AGAIN, AGAIN, AGAIN, AGAIN),
    "request_timed_out": (AGAIN, AGAIN, AGAIN, ELSEWHERE, AGAIN),
    "unknown_producer_id": (FATAL, RENEW, RENEW, FATAL, RENEW),
    "invalid_producer_id_mapping": (FATAL, RENEW, RENEW, FATAL, RENEW),
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
    assert tuple(judge(api, [code])[0] for api in ALL) == TABLE[name]


@pytest.mark.parametrize(
    ("codes", "verdict", "worst"),
    [
        (["none", "none"], GOOD, "none"),
        (["operation_not_attempted", "unknown_topic_or_partition"], AGAIN, None),
        (["operation_not_attempted", "topic_authorization_failed"], ABORT, None),
        (["topic_authorization_failed", "producer_fenced", "none"], FATAL, "producer_fenced"),
    ],
)
def test_of_several_the_worst_counts(codes: list[str], verdict: Verdict, worst: str | None) -> None:
    found, code = judge(PARTITIONS, [ErrorCode[name] for name in codes])
    assert found is verdict and code.name == (worst or codes[1])
