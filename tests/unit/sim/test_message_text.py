"""What a trace says of the messages of a transaction."""

from dataclasses import replace

import pytest

from engine.errors import ErrorCode
from engine.sim.message_text import message_text
from engine.wire.apis import Api
from engine.wire.codec import message
from tests.unit.widgets.test_wire_anatomy import sample
from tests.unit.widgets.test_wire_words import marks, of
from widgets.wire.anatomy import ANSWER, ASK

TILL = {"transactional_id": "till", "producer_id": 4000, "producer_epoch": 2}
ADDS = of(Api.ADD_PARTITIONS_TO_TXN, ASK, "topics", name="orders", partitions=(0, 2))
COMMITS = of(Api.TXN_OFFSET_COMMIT, ASK, "topics", "partitions", committed_offset=7)
PLACED = of(Api.PRODUCE, ASK, "topic_data", "partition_data", index=3)


@pytest.mark.parametrize(
    ("api", "way", "fields", "said"),
    [
        (Api.INIT_PRODUCER_ID, ASK, {"transactional_id": "till"}, "InitProducerId till"),
        (Api.INIT_PRODUCER_ID, ANSWER, TILL, "producer 4000 epoch 2"),
        (
            Api.ADD_PARTITIONS_TO_TXN,
            *(ASK, ADDS | TILL, "AddPartitionsToTxn till epoch 2 orders-0, orders-2"),
        ),
        (
            Api.ADD_OFFSETS_TO_TXN,
            *(ASK, TILL | {"group_id": "g"}, "AddOffsetsToTxn till epoch 2 offsets of g"),
        ),
        (Api.TXN_OFFSET_COMMIT, ASK, COMMITS | TILL, "TxnOffsetCommit till epoch 2 orders-0 to 7"),
        (Api.END_TXN, ASK, TILL | {"committed": True}, "EndTxn till epoch 2 commit"),
        (Api.END_TXN, ANSWER, {"error_code": ErrorCode.producer_fenced}, "producer_fenced"),
        (Api.END_TXN, ANSWER, {}, "EndTxnResponse"),
        (
            Api.WRITE_TXN_MARKERS,
            *(ASK, marks(("orders", (0, 2))), "WriteTxnMarkers abort producer 4000 epoch 2 "
              "orders-0, orders-2"),
        ),
        (
            Api.OFFSET_DELETE,
            *(ANSWER, of(Api.OFFSET_DELETE, ANSWER, "topics", "partitions",
                         error_code=ErrorCode.invalid_producer_epoch), "invalid_producer_epoch"),
        ),
        (Api.OFFSET_DELETE, ANSWER, {}, "offsets written"),
        (Api.PRODUCE, ASK, PLACED | {"transactional_id": "till"}, "Produce orders-3 of till"),
    ],
)  # fmt: skip
def test_who_asks_in_which_epoch_and_for_what(api, way, fields, said):
    known = {"transactional_id", "producer_id", "producer_epoch"}
    body = sample(message(api, api.newest, way))
    has = {name: value for name, value in fields.items() if hasattr(body, name)}
    assert has.keys() | known >= fields.keys()
    assert message_text((1, replace(body, **has))) == (said, False)
