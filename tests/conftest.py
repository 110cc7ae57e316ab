"""What every test shares: how hypothesis searches, what comes first, and that Ctrl-C is heard."""

import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import kazoo.protocol.connection
import kazoo.retry
import pytest
from hypothesis import settings

import tests.lean  # noqa: F401
from engine.cluster.node_launcher import NodeLauncher, TemplateProcess
from tests.closed_sockets import close_what_it_forgets
from tests.last_words import LastWordsPlugin
from tests.leftovers import LeftoversPlugin
from tests.standstill import StandstillPlugin
from tests.summary import SummaryPlugin

# A shared machine is slow by fits, so no deadline. In CI the search is the same every time, as in
# hypothesis' own profile "ci"; at home it is a new one, and remembers what failed. Both try a part
# of the examples, and `make long` all of them.
PART = 30  # percent
settings.register_profile("long", deadline=None, print_blob=True)
settings.register_profile("home", settings.get_profile("long"), max_examples=PART)
settings.register_profile("github", settings.get_profile("ci"), max_examples=PART)
settings.load_profile("github" if os.environ.get("CI") else "home")

# kazoo's threads draw random numbers meanwhile, and Hypothesis cannot tell them from a strategy's.
kazoo.protocol.connection.random = kazoo.retry.random = random.Random()

# In a test a verdict other than expected is an error: see widgets/ledger.
os.environ["BROKERLAB_STRICT"] = "1"

# What lab 08 measures is shorter in a test: see labs/speed/shared.py.
os.environ["BROKERLAB_SHORT"] = "1"

# A shell starts what it runs in the background deaf to Ctrl-C, and so would be all that we start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
# Modules that take long begin first, so that in the end no worker is left with one of them. What
# takes milliseconds fills up the rest.
FIRST = ["labs", "tests/streams", "tests/cluster", "tests/labs", "tests/interop"]
FIRST += ["tests/unit/proof", "tests/unit/oracle", "tests/simulation", "tests/properties"]
SHARING = {"tests/cluster", "tests/interop"}
# Labs that take long are run by parts: `make test` leaves their cells out from this one on, and the
# target of this name runs the whole lab.
REST = {
    "02_replication": ("order-predict", "advanced"),
    "04_streams": ("flow-predict", "spark"),
    "06_sending": ("buffer-predict", "advanced"),
    "07_promises": ("acks-predict", "advanced"),
    "08_speed": ("tail-predict", "advanced"),
    "09_operations": ("one-predict", "advanced"),
    "10_kraft": ("format-predict", "advanced"),
    "articles": ("release-predict", "advanced"),
    "challenges": ("compact-chapter", "advanced"),
}
# What takes long, and asks again, of other faults or cells, what `make test` asks too, is in
# `make advanced`: exercises and mutants of labs, and these clusters.
MUTANTS = "controller_lab sending_lab order rebalance_lab rebalance_lab_exercises"
MUTANTS += " replication_lab replication_lab_exercises storage_lab streams_lab"
MUTANTS += " streams_lab_exercises"
CLUSTERS = "ensemble rolling_switch faults_clock faults_single faults_stop faults_transactions"
CLUSTERS += " foreign groups_faults stories_on_fetch"
MOVED = {f"tests/labs/test_{name}.py" for name in MUTANTS.split()}
MOVED |= {f"tests/cluster/test_{name}.py" for name in CLUSTERS.split()}
MOVED |= {"tests/classroom/test_lesson.py"}


@pytest.fixture(scope="session", autouse=True)
def one_template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The engine is loaded once for all clusters of this process, and not once for each."""
    template = TemplateProcess(tmp_path_factory.mktemp("template") / "launcher.log")
    NodeLauncher.shared = template
    yield
    NodeLauncher.shared = None
    template.stop()


def pytest_configure(config: pytest.Config) -> None:
    config.option.loadscopereorder = False  # xdist's order begins with the many quick tests
    config.pluginmanager.register(StandstillPlugin(), "standstill")
    config.pluginmanager.register(SummaryPlugin(), "summary")
    config.pluginmanager.register(LastWordsPlugin(), "last words")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(LeftoversPlugin(), "leftovers")


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_sections(items)
    for item in items:
        if item.path.relative_to(ROOT).as_posix() in MOVED:
            item.add_marker("advanced")
    items.sort(key=turn)
    if "kafka" in sys.modules:
        close_what_it_forgets()


def mark_sections(items: list[pytest.Item]) -> None:
    """With the table of a lab's end, which shows what every section has found."""
    begun = set[str]()
    for item in items:
        first, mark = REST.get(item.path.stem, ("", ""))
        notebook = item.nodeid.partition("::")[0]  # a lab may be there in two modes
        if mark and item.cell.id == first:  # type: ignore[attr-defined]  # of nbval
            begun.add(notebook)
        if notebook in begun:
            item.add_marker(mark)
        elif mark:
            item.add_marker("needed")


def turn(item: pytest.Item) -> tuple[int, str]:
    """By its folder; in some, then by the cluster that its module wants, so that they can share."""
    folders = [folder.as_posix() for folder in item.path.relative_to(ROOT).parents]
    place = min((n for n, first in enumerate(FIRST) if first in folders), default=len(FIRST))
    module = getattr(item, "module", None) if SHARING.intersection(folders) else None
    return place, f"{getattr(module, 'BROKERS', '')} {getattr(module, 'CONFIG', '')}"
