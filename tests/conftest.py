"""What every test shares: how hypothesis searches, what comes first, and that Ctrl-C is heard."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A shared machine is slow by fits, so no deadline. In CI ("ci" is hypothesis' own profile) the
# search is the same every time; at home it is a new one, and remembers what failed.
settings.register_profile("home", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")

# A shell starts what it runs in the background deaf to Ctrl-C, and so would be all that we start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
# Modules that take long begin first, so that in the end no worker is left with one of them. What
# takes milliseconds fills up the rest.
FIRST = ["tests/streams", "labs", "tests/cluster", "tests/labs", "tests/interop"]
FIRST += ["tests/simulation", "tests/properties"]


def pytest_configure(config: pytest.Config) -> None:
    """By itself xdist would begin with the modules of most tests, and those are the quick ones."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=turn)


def turn(item: pytest.Item) -> int:
    folders = [folder.as_posix() for folder in item.path.relative_to(ROOT).parents]
    return min((n for n, first in enumerate(FIRST) if first in folders), default=len(FIRST))
