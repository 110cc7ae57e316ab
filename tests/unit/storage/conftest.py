"""What the tests of storage share."""

from collections.abc import Iterator

import pytest

from tests.unit.storage.disk import Disk, temporary_disk


@pytest.fixture
def disk() -> Iterator[Disk]:
    with temporary_disk(segment_index_bytes=4096) as it:
        yield it
