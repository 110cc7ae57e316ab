"""The keys of quotas: over which time a rate is computed, and the deprecated defaults.

Quotas themselves are set while the broker runs, for users and client ids: see engine/quotas.
"""

from dataclasses import dataclass

from engine.config.key import Config, Long, at_least, key
from engine.config.topic import LONG_MAX


@dataclass(frozen=True, kw_only=True)
class QuotasConfig(Config):
    quota_window_num: int = key(
        11, "The windows over which a client's rate is computed, with the current one.", at_least(1)
    )
    quota_window_size_seconds: int = key(1, "The time of one window.", at_least(1))
    quota_producer_default: Long = key(
        LONG_MAX,
        "Deprecated: bytes a second that a client id may produce if no other quota is set.",
        at_least(1),
    )
    quota_consumer_default: Long = key(
        LONG_MAX,
        "Deprecated: bytes a second that a client id may fetch if no other quota is set.",
        at_least(1),
    )
    controller_quota_window_num: int = key(
        11, "The windows whose tokens a client may save to create and delete topics.", at_least(1)
    )
    controller_quota_window_size_seconds: int = key(1, "The time of one such window.", at_least(1))
