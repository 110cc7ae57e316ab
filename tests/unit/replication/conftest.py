"""A cluster of three, and one for each test that wants another."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.replication.cluster import Cluster


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    made: list[Cluster] = []

    def make(size: int = 3, settings: dict[str, str] | None = None, **topic: Any) -> Cluster:
        made.append(Cluster(tmp_path / f"{len(made)}", size, settings, **topic))
        return made[-1]

    yield make
    for cluster in made:
        for broker in cluster.all.values():
            broker.directory.abandon()


@pytest.fixture
def cluster(build: Callable[..., Cluster]) -> Cluster:
    return build()
