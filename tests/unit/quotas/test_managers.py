"""Which quota counts, what is counted together, and what a broker says about it."""

import pytest

from engine.config import BrokerConfig
from engine.errors import ApiException, ErrorCode
from engine.quotas.client_quota_manager import (
    EXPIRED_MS,
    ClientQuotaManager,
    ControllerMutationQuota,
    QuotaKind,
)
from engine.quotas.connection_quotas import UNLIMITED, ConnectionQuotas
from engine.quotas.entity import DEFAULT, ClientQuotaEntity, QuotaGroup
from engine.quotas.quota_managers import QuotaManagers
from engine.quotas.rate import Windows

T = 1_700_000_000_000
ALICE, APP = ClientQuotaEntity("alice"), ClientQuotaEntity(client="app")
MB = 1e6


def manager(kind=QuotaKind.PRODUCE, **quotas):
    made = ClientQuotaManager(kind)
    made.configure(quotas.pop("by", {ALICE: 100.0}))
    return made


ORDER = [
    ClientQuotaEntity("alice", "app"),
    ClientQuotaEntity("alice", DEFAULT),
    ClientQuotaEntity("alice"),
    ClientQuotaEntity(DEFAULT, "app"),
    ClientQuotaEntity(DEFAULT, DEFAULT),
    ClientQuotaEntity(DEFAULT),
    ClientQuotaEntity(client="app"),
    ClientQuotaEntity(client=DEFAULT),
]


def test_the_order_is_kafkas():
    quotas = {entity: float(place) for place, entity in enumerate(ORDER)}
    found = ClientQuotaManager(QuotaKind.PRODUCE)
    for place in range(len(ORDER)):
        found.configure(quotas)
        assert found.quota("alice", "app")[1] == place
        del quotas[ORDER[place]]
    found.configure(quotas)
    assert found.quota("alice", "app") is None
    assert not found.enabled


def test_a_user_without_client_id_has_only_the_quotas_of_users():
    quotas = dict.fromkeys(ORDER, 1.0) | {ORDER[2]: 3.0, ORDER[5]: 6.0}
    assert manager(by=quotas).quota("alice", "") == (QuotaGroup("alice", ""), 3.0)
    assert manager(by=quotas).quota("bob", "") == (QuotaGroup("bob", ""), 6.0)
    assert manager(by={ORDER[7]: 1.0}).quota("bob", "") is None


def test_who_shares_a_quota_is_counted_together():
    produce = manager()
    assert produce.record("alice", "one", 1000, T) == 0
    assert produce.record("alice", "two", 1000, T) == 10_000
    assert produce.record("bob", "one", 1_000_000, T) == 0


def test_each_client_id_has_the_default_for_itself():
    produce = manager(by={ClientQuotaEntity(client=DEFAULT): 100.0})
    assert produce.record("alice", "one", 1000, T) == 0
    assert produce.record("alice", "two", 1000, T) == 0
    assert produce.record("bob", "one", 1000, T) == 10_000


def test_the_deprecated_default_of_a_broker():
    produce = ClientQuotaManager(QuotaKind.PRODUCE, default=100)
    assert produce.enabled
    assert produce.record("alice", "app", 2000, T) == 10_000
    produce.configure({APP: 1000.0})
    assert produce.quota("alice", "app") == (QuotaGroup("", "app"), 1000.0)
    assert produce.quota("alice", "other") == (QuotaGroup("", "other"), 100)


def test_a_new_quota_counts_what_was_used_before():
    produce = manager()
    produce.record("alice", "app", 10_000, T)
    produce.configure({ALICE: 1000.0})
    assert produce.record("alice", "app", 1, T) == 1
    produce.configure({})
    assert produce.record("alice", "app", 10_000, T) == 0


def test_time_is_throttled_for_one_window_at_most():
    request = manager(QuotaKind.REQUEST, by={ALICE: 1.0})
    assert request.record("alice", "app", 1000, T) == 1000
    assert manager(by={ALICE: 1.0}).record("alice", "app", 1000, T) == 990_000


def test_a_fetch_that_is_not_sent_does_not_count():
    fetch = manager(QuotaKind.FETCH)
    assert fetch.record("alice", "app", 3000, T) == 20_000
    fetch.unrecord("alice", "app", 3000, T)
    assert fetch.record("alice", "app", 1000, T) == 0
    assert fetch.most("alice", "app") == 1000
    assert fetch.most("bob", "app") is None


def test_strict_quotas_refuse_and_others_let_wait():
    mutation = manager(QuotaKind.CONTROLLER_MUTATION, by={ALICE: 1.0})
    lenient = ControllerMutationQuota(mutation, "alice", "app", strict=False)
    lenient.record(11, T)
    assert lenient.throttle_ms(T) == 0  # no token is left, and none is missing
    lenient.record(3, T)
    assert lenient.throttle_ms(T + 1000) == 2000
    strict = ControllerMutationQuota(mutation, "alice", "app", strict=True)
    with pytest.raises(ApiException) as refused:
        strict.record(1, T + 1000)
    assert refused.value.code is ErrorCode.throttling_quota_exceeded
    assert refused.value.message == "The throttling quota has been exceeded."
    assert strict.throttle_ms(T + 1000) == 2000
    strict = ControllerMutationQuota(mutation, "alice", "app", strict=True)
    strict.record(500, T + 3000)  # however many, if no token is missing
    assert strict.throttle_ms(T + 3000) == 0
    free = ControllerMutationQuota(mutation, "bob", "app", strict=True)
    free.record(1000, T)
    assert free.throttle_ms(T) == 0


def test_a_client_that_is_gone_is_forgotten():
    produce = manager()
    produce.record("alice", "app", 10_000, T)
    produce.expire(T + EXPIRED_MS)
    assert produce.record("alice", "app", 0, T + 5000) > 0
    produce.expire(T + 5000 + EXPIRED_MS + 1)
    assert not list(produce.usage(T + 5000))


def test_connections_of_an_address():
    quotas = ConnectionQuotas(Windows())
    assert quotas.connect("10.0.0.1", T) == 0
    quotas.configure({ClientQuotaEntity(ip="10.0.0.1"): 1.0, ClientQuotaEntity(ip=DEFAULT): 2.0})
    assert [quotas.connect("10.0.0.1", T) for _ in range(12)] == [0] * 10 + [1000, 1000]
    assert [quotas.connect("10.0.0.2", T) for _ in range(21)] == [0] * 20 + [500]
    assert quotas.connect("10.0.0.1", T + 1100) == 900  # those that were closed do not count
    quotas.expire(T + EXPIRED_MS + 1101)
    assert quotas.connect("10.0.0.1", T) == 0


def test_connections_of_all_together_wait_for_their_turn():
    quotas = ConnectionQuotas(Windows())
    assert quotas.turn(UNLIMITED, T) == 0
    assert [quotas.turn(2, T) for _ in range(22)] == [0] * 20 + [500, 1000]
    assert quotas.turn(2, T + 20_000) == 0


def test_no_address_may_connect():
    quotas = ConnectionQuotas(Windows())
    quotas.configure({ClientQuotaEntity(ip=DEFAULT): 0.0})
    assert quotas.connect("10.0.0.1", T) == 1000


def config(**more):
    return BrokerConfig(broker_id=1, zookeeper_connect="zk", log_dirs=("d",), **more)


def test_a_broker_without_quotas_has_nothing_to_do():
    events = []
    quotas = QuotaManagers(config(), events.append)
    assert not quotas.enabled
    quotas.configure({ClientQuotaEntity(ip=DEFAULT): {"connection_creation_rate": 1.0}})
    assert not quotas.enabled  # of requests
    quotas.configure({ALICE: {"request_percentage": 50.0}})
    assert quotas.enabled
    quotas.configure({})
    assert not quotas.enabled
    assert QuotaManagers(config(quota_producer_default=1), events.append).enabled


def test_one_event_a_second_for_each_client():
    events = []
    quotas = QuotaManagers(config(), events.append)
    for at in (0, 1, 999, 1000):
        quotas.note(QuotaKind.FETCH, "alice", "app", 70, T + at)
    quotas.note(QuotaKind.FETCH, "bob", "app", 70, T + 1)
    assert [(each.kind, each.at - T, each.data["user"]) for each in events] == [
        ("client.throttled", 0, "alice"),
        ("client.throttled", 1000, "alice"),
        ("client.throttled", 1, "bob"),
    ]
    assert events[0].data == {
        "user": "alice",
        "client": "app",
        "quota": "consumer_byte_rate",
        "ms": 70,
    }


def test_the_state_shows_who_uses_a_quota():
    quotas = QuotaManagers(config(quota_window_num=3, quota_window_size_seconds=2), print)
    quotas.configure({ALICE: {"producer_byte_rate": 100.0}, APP: {"consumer_byte_rate": 10.0}})
    quotas.produce.record("alice", "app", 600, T)
    quotas.fetch.record("bob", "app", 40, T)
    assert quotas.snapshot(T) == [
        {
            "quota": "producer_byte_rate",
            "user": "alice",
            "client": None,
            "limit": 100.0,
            "rate": 150.0,
            "throttle_ms": 2000,
        },
        {
            "quota": "consumer_byte_rate",
            "user": None,
            "client": "app",
            "limit": 10.0,
            "rate": 10.0,
            "throttle_ms": 0,
        },
    ]
    assert [each["user"] for each in quotas.snapshot(T + 6001)] == ["alice"]
    assert quotas.snapshot(T + 8001) == []
