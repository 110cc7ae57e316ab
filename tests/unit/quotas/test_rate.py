"""Rates and tokens, with Kafka's numbers: eleven windows of a second."""

import math

import pytest

from engine.quotas.rate import WINDOWS, Rate, TokenBucket, Windows, java_int, java_round

T = 1_700_000_000_000
QUOTA = 500.0


def recorded(*values, windows=WINDOWS):
    """A rate after values at times: (ms, value)."""
    rate = Rate(windows)
    for at, value in values:
        rate.record(value, T + at)
    return rate


def test_before_ten_windows_are_over_the_rate_is_computed_as_if_they_were():
    rate = recorded((0, 5000))
    assert rate.measure(T) == 500
    assert rate.measure(T + 500) == pytest.approx(5000 / 10.5)
    assert rate.measure(T + 1000) == 500  # a window that is over counts among the ten
    assert rate.throttle_ms(QUOTA, T) == 0


def test_the_time_to_wait_brings_the_rate_down_to_the_quota():
    rate = recorded((0, 5500))
    assert rate.measure(T) == 550
    assert rate.throttle_ms(QUOTA, T) == 1000  # 5500 bytes in 11 s are 500 a second


def test_kafkas_own_example():
    """Its ClientQuotaManagerTest: 400 bytes in each second, then 2300 in half a window."""
    rate = recorded(*((second * 1000, 400) for second in range(10)))
    rate.record(2300, T + 10_500)
    assert rate.measure(T + 10_500) == pytest.approx((4000 + 2300) / 10.5)
    assert rate.throttle_ms(QUOTA, T + 10_500) == 2100


def test_an_old_window_is_forgotten_as_a_whole():
    rate = recorded((0, 100_000), (1000, 500))
    assert rate.throttle_ms(QUOTA, T + 10_999) > 0
    assert rate.measure(T + 11_000) == pytest.approx(500 / 10)
    assert rate.throttle_ms(QUOTA, T + 11_000) == 0


def test_after_a_pause_there_is_nothing_left():
    rate = recorded((0, 100_000))
    assert rate.measure(T + 3_600_000) == 0
    rate.record(5000, T + 3_600_000)
    assert rate.throttle_ms(QUOTA, T + 3_600_000) == 0


def test_what_is_taken_back_does_not_count():
    rate = recorded((0, 100_000), (0, -100_000))
    assert rate.measure(T) == 0


def test_longer_and_fewer_windows():
    rate = recorded((0, 1000), windows=Windows(2, 5))
    assert rate.measure(T) == 200  # over one whole window of five seconds
    assert rate.measure(T + 9_999) == pytest.approx(1000 / 9.999)
    assert rate.measure(T + 10_000) == 0


@pytest.mark.parametrize(
    ("quota", "wait"),
    [(0.0, -1), (-1.0, -10_100_000), (math.nan, 0)],
)
def test_a_quota_that_makes_no_sense_throttles_nobody_as_in_kafka(quota, wait):
    assert java_int(recorded((0, 10_090)).throttle_ms(quota, T)) == wait


def test_javas_numbers():
    assert java_round(math.inf) == 2**63 - 1
    assert java_round(-math.inf) == -(2**63)
    assert java_round(math.nan) == 0
    assert java_round(2.5) == 3
    assert java_round(-2.5) == -2
    assert [java_int(it) for it in (2**31 - 1, 2**31, 2**63 - 1)] == [2**31 - 1, -(2**31), -1]


def test_a_bucket_is_full_at_first_and_fills_at_the_rate_of_the_quota():
    bucket = TokenBucket(Windows(10, 1))
    assert bucket.measure(5.0, T) == 50
    bucket.record(60, 5.0, T)
    assert bucket.throttle_ms(5.0, T) == 2000  # ten tokens are missing
    assert bucket.throttle_ms(5.0, T + 1999) == 1
    assert bucket.throttle_ms(5.0, T + 2001) is None
    assert bucket.measure(5.0, T + 3_600_000) == 50  # and no more


def test_a_bucket_without_tokens_and_one_that_is_not_a_number():
    bucket = TokenBucket(Windows())
    bucket.record(1, 0.0, T)
    assert java_int(bucket.throttle_ms(0.0, T)) == -1
    assert TokenBucket(Windows()).throttle_ms(-1.0, T) < 0
    assert TokenBucket(Windows()).throttle_ms(math.nan, T) is None
