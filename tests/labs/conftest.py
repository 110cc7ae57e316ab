"""What the tests of the labs share: labs/ can be imported from, and a lab can be read."""

from collections.abc import Iterator

import pytest

from tests.labs.reader import LABS, Reader


@pytest.fixture(scope="module", autouse=True)
def labs_can_be_imported() -> Iterator[None]:
    """As in a notebook, which runs in that folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(LABS))
        yield


@pytest.fixture
def reader(request: pytest.FixtureRequest) -> Iterator[Reader]:
    """Of the lab that a module names in LAB."""
    reader = Reader(request.module.LAB)
    yield reader
    reader.close()


@pytest.fixture(scope="module")
def shared(request: pytest.FixtureRequest, labs_can_be_imported: None) -> Iterator[Reader]:
    """One for a whole module: what it runs shares the lab's cluster, once a cell has started it."""
    reader = Reader(request.module.LAB)
    yield reader
    reader.close()
