"""Fields that have another name in kio than in Kafka 2.8.

kio follows Kafka 4, where some fields mean more than they did, and have a longer name for it. The
engine has the names of the release that it is:

    generation_id_or_member_epoch    ->    generation_id        OffsetCommit
    v3_and_below_topics              ->    topics               AddPartitionsToTxn
"""

import dataclasses
from functools import cache

from engine.wire.messages.versions import make_message

NAMES = {
    "generation_id_or_member_epoch": "generation_id",
    "v3_and_below_transactional_id": "transactional_id",
    "v3_and_below_producer_id": "producer_id",
    "v3_and_below_producer_epoch": "producer_epoch",
    "v3_and_below_topics": "topics",
    "results_by_topic_v3_and_below": "results",
}
CONSTANTS = {"__type__", "__version__", "__flexible__", "__api_key__", "__header_schema__"}


@cache
def named(message: type) -> type:
    """The message with the names of Kafka 2.8; itself, if kio has them already."""
    fields = dataclasses.fields(message)
    if not any(field.name in NAMES for field in fields):
        return message
    declared = [
        (
            NAMES.get(field.name, field.name),
            field.type,
            dataclasses.field(default=field.default, metadata=field.metadata),
        )
        for field in fields
    ]
    form = {name: value for name, value in vars(message).items() if name in CONSTANTS}
    return make_message(message.__name__, declared, form)
