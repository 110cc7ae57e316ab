"""What differs in a browser tab, tried here: the checksum in a table, and the refusal in words."""

import random

import pytest
from crc32c import crc32c

from engine import Cluster, browser
from engine.browser import NotInBrowser, crc32c_by_table


def test_the_table_has_the_checksums_of_the_package():
    data = random.Random(7).randbytes(1000)
    assert crc32c_by_table(b"123456789") == 0xE3069283
    for size in (0, 1, 7, 1000):
        assert crc32c_by_table(data[:size]) == crc32c(data[:size])


def test_a_checksum_goes_on_from_another_one():
    assert crc32c_by_table(b"456789", crc32c_by_table(memoryview(b"123"))) == 0xE3069283


def test_a_cluster_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(browser, "IN_BROWSER", True)
    with pytest.raises(NotInBrowser, match="A cluster needs the processes and sockets"):
        Cluster(brokers=3)
