"""A second quota manager, written plainly after Kafka's words, agrees with ours.

It asks for the eight places in ZooKeeper one by one, and keeps every value that was recorded; ours
has a rule for the order, and windows that are used in turn.
"""

from hypothesis import given
from hypothesis import strategies as st

from engine.quotas.client_quota_manager import ClientQuotaManager, QuotaKind
from engine.quotas.entity import DEFAULT, ClientQuotaEntity
from engine.quotas.rate import Rate, Windows

USERS, CLIENTS = ("alice", "bob", "ANONYMOUS"), ("app", "tool", "")
QUOTAS = st.sampled_from([100.0, 1000.0, 5000.0, 1e6])
PLACES = [
    "users/alice/clients/app",
    "users/alice/clients/<default>",
    "users/alice",
    "users/bob/clients/tool",
    "users/bob",
    "users/<default>/clients/app",
    "users/<default>/clients/<default>",
    "users/<default>",
    "clients/app",
    "clients/tool",
    "clients/<default>",
]


def entity(place):
    names = place.split("/")
    named = {
        kind: DEFAULT if name == "<default>" else name
        for kind, name in zip(names[::2], names[1::2], strict=True)
    }
    return ClientQuotaEntity(named.get("users"), named.get("clients"))


class PlainQuotas:
    """One client after another looks into ZooKeeper."""

    def __init__(self, quotas, windows):
        self.quotas = quotas
        self.windows = windows
        self.recorded = {}  # who is counted together -> their windows

    def place(self, user, client):
        if client and f"users/{user}/clients/{client}" in self.quotas:
            return f"users/{user}/clients/{client}", (user, client)
        if client and f"users/{user}/clients/<default>" in self.quotas:
            return f"users/{user}/clients/<default>", (user, client)
        if f"users/{user}" in self.quotas:
            return f"users/{user}", (user, "")
        if client and f"users/<default>/clients/{client}" in self.quotas:
            return f"users/<default>/clients/{client}", (user, client)
        if client and "users/<default>/clients/<default>" in self.quotas:
            return "users/<default>/clients/<default>", (user, client)
        if "users/<default>" in self.quotas:
            return "users/<default>", (user, "")
        if client and f"clients/{client}" in self.quotas:
            return f"clients/{client}", ("", client)
        if client and "clients/<default>" in self.quotas:
            return "clients/<default>", ("", client)
        return None, None

    def record(self, user, client, value, now):
        place, together = self.place(user, client)
        if place is None:
            return 0
        number, size = self.windows.number, self.windows.size_ms
        ring = self.recorded.setdefault(together, [])  # [began, value], the current one last
        if not ring or now - ring[-1][0] >= size:
            ring.append([now, 0])
            del ring[:-number]
        ring[-1][1] += value
        for each in ring:
            if now - each[0] >= number * size:
                each[:] = [now, 0]
        passed = now - min(began for began, _ in ring)
        while passed // size < number - 1:
            passed += size
        quota, rate = self.quotas[place], sum(it for _, it in ring) / (passed / 1000)
        if rate <= quota:
            return 0
        return int((rate - quota) / quota * passed + 0.5)


STEP = st.tuples(
    st.sampled_from(USERS),
    st.sampled_from(CLIENTS),
    st.integers(1, 20_000),  # bytes
    st.sampled_from([0, 1, 40, 500, 999, 1000, 1001, 2500, 15_000]),  # ms since the one before
)


@given(
    st.dictionaries(st.sampled_from(PLACES), QUOTAS),
    st.lists(STEP, max_size=60),
    st.sampled_from([Windows(11, 1), Windows(2, 1), Windows(3, 2)]),
)
def test_precedence_and_throttle_time_are_those_of_a_plain_manager(quotas, steps, windows):
    ours = ClientQuotaManager(QuotaKind.PRODUCE, windows)
    ours.configure({entity(place): quota for place, quota in quotas.items()})
    plain, now = PlainQuotas(quotas, windows), 1_700_000_000_000
    for user, client, size, pause in steps:
        now += pause
        expected = plain.record(user, client, size, now)
        assert ours.record(user, client, size, now) == expected
        found = ours.quota(user, client)
        place, together = plain.place(user, client)
        assert found == (None if place is None else (together, quotas[place]))


@given(st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 5000)), min_size=1, max_size=40))
def test_after_the_time_that_a_client_is_told_to_wait_it_is_within_its_quota(values):
    """That is what the time is for; a window that ends meanwhile makes the rate lower still."""
    rate, now, quota = Rate(Windows()), 1_000, 500.0
    for value, pause in values:
        now += pause
        rate.record(value, now)
        wait = rate.throttle_ms(quota, now)
        if wait > 0:
            total = rate.measure(now) * rate.span(now)
            assert total / (rate.span(now) + wait) <= quota * 1.01
