"""The guide, without a kernel: a learner in a hurry, and one who reads from top to bottom."""

import builtins
import json
import sys
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import ApiException, ErrorCode
from tests.labs.order import LABS, Learner
from widgets.notebook.cells import Code, Notebook
from widgets.notebook.guide import Guide, shared_clusters

BOOK = [
    "# A lab",
    "## Tea",
    "from engine import Cluster\n\ncluster = Cluster()",
    "pot = brew(cluster, Cluster)\nguess = ask('tea')",
    "guess.outcome(pot)",
    "## Coffee",
    "from engine import Cluster\n\ncluster = again(cluster)",
    "guess = ask('coffee')",
    "guess.outcome(cluster)",
    "## Milk",
    "from engine import Cluster\n\ncluster = Cluster()",
    "cluster.table()",
    "pot.pour()",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cells = [
        {"cell_type": "markdown" if text.startswith("#") else "code", "source": text}
        for text in BOOK
    ]
    (tmp_path / "lab.ipynb").write_text(json.dumps({"cells": cells}))
    return tmp_path


class SharedCluster:
    """In the place of a cluster."""


class Reader:
    """Runs no cell: says to the guide what a kernel would."""

    def __init__(self, folder: Path) -> None:
        self.names: dict[str, Any] = {}
        self.guide = Guide(SimpleNamespace(user_ns=self.names), folder)

    def run(self, source: str) -> str:
        """It goes well, and makes what it makes."""
        self.guide.begin(source)
        self.names |= {name: object() for name in Code(source).makes}
        return self.guide.done()

    def fail(self, source: str, error: BaseException | None = None) -> str:
        self.guide.begin(source)
        return self.guide.explain(error or NameError("name 'it' is not defined"))


@pytest.fixture
def reader(folder: Path) -> Reader:
    return Reader(folder)


def test_who_makes_a_name_that_is_missing_is_reported(reader: Reader) -> None:
    assert reader.fail(BOOK[4]) == (
        "`guess` and `pot` are not there yet. They are made by the cell with\n"
        "    pot = brew(cluster, Cluster)    (in “Tea”)\n"
        "Run that one first, or this section from its heading on."
    )
    assert reader.fail(BOOK[12]).endswith("(in “Tea”)\nRun that one first.")  # far away
    assert "    guess = ask('coffee')    (in “Coffee”)" in reader.fail(BOOK[8])


def test_a_cell_is_known_by_its_code_and_not_by_its_imports(reader: Reader) -> None:
    assert "    cluster = Cluster()    (in “Tea”)" in reader.fail(BOOK[3])


def test_a_name_that_only_a_function_s_body_needs_is_reported(reader: Reader) -> None:
    reader.run(BOOK[2])  # by which the notebook is known
    source = "def drink():\n    return pot\n\n\ndrink()"
    error = NameError("name 'pot' is not defined", name="pot")
    assert "`pot` is not there yet" in reader.fail(source, error)
    assert reader.fail(source, NameError("name 'pto' is not defined", name="pto")) == ""


def test_what_the_learner_mistyped_is_left_to_python(reader: Reader) -> None:
    assert "`Cluster` and `cluster` are not there" in reader.fail(BOOK[3])
    assert reader.fail("print(clutser)") == ""
    assert "`cluster` is not there" in reader.fail("print(cluster.brokers)")


def test_a_name_of_another_section_is_reported_below_the_result(reader: Reader) -> None:
    for cell in BOOK[2:4]:
        assert reader.run(cell) == ""
    said = reader.run(BOOK[8])
    assert said.startswith("Mind: `cluster` and `guess` come from elsewhere by now.")
    assert "    cluster = again(cluster)    (in “Coffee”)" in said
    for cell in BOOK[6:8]:
        reader.run(cell)
    assert reader.run(BOOK[8]) == ""


def test_what_was_made_from_something_old_is_old(reader: Reader) -> None:
    for cell in (*BOOK[2:5], BOOK[2]):
        assert reader.run(cell) == ""
    assert "`guess` and `pot` come from elsewhere" in reader.run(BOOK[4])
    reader.run(BOOK[3])
    assert reader.run(BOOK[4]) == ""


def test_what_comes_out_the_same_again_makes_nothing_old(reader: Reader) -> None:
    """As the cell of a lab that asks for the cluster, which runs already."""
    for cell in BOOK[2:4]:
        reader.run(cell)
    reader.guide.begin(BOOK[2])
    assert reader.guide.done() == ""
    assert reader.run(BOOK[4]) == ""


def test_what_was_made_from_anothers_is_mixed_until_it_is_made_anew(reader: Reader) -> None:
    for cell in (BOOK[2], BOOK[6]):
        reader.run(cell)
    said = reader.run(BOOK[3])  # by the coffee's cluster
    assert "`cluster`" in said
    assert "`Cluster`" not in said  # what is imported is the same, whoever does it
    assert "`guess` and `pot`" in reader.run(BOOK[4])
    for cell in BOOK[2:5]:
        said = reader.run(cell)
    assert said == ""


def test_what_a_cell_made_before_it_failed_is_to_be_made_anew(reader: Reader) -> None:
    for cell in BOOK[2:4]:
        reader.run(cell)
    reader.guide.begin(BOOK[7])
    reader.guide.failed()  # before it made anything
    assert reader.run(BOOK[4]) == ""
    for cell in (BOOK[7], BOOK[3]):  # another section's, and the right one
        reader.guide.begin(cell)
        reader.names["guess"] = object()
        reader.guide.failed()
        assert reader.fail(BOOK[4], KeyError("pot")).startswith(
            "Mind: `guess` comes from elsewhere"
        )
    reader.run(BOOK[3])
    assert reader.run(BOOK[4]) == ""


def test_what_a_cell_imported_before_it_failed_is_right(reader: Reader) -> None:
    """A cell imports a class, and cannot start a cluster with it: the class is what it is."""
    reader.guide.begin(BOOK[2])
    reader.names["Cluster"] = object()
    reader.guide.failed()
    reader.names["cluster"] = object()
    assert reader.run(BOOK[3]) == ""


def test_what_another_section_makes_by_the_same_words_is_the_same(reader: Reader) -> None:
    reader.run(BOOK[2].replace("\n\n", "\n"))  # the learner's own
    reader.run(BOOK[2])
    assert reader.run(BOOK[11]) == ""
    reader.run(BOOK[6])
    assert "`cluster`" in reader.run(BOOK[11])


def test_a_cluster_that_sections_share_is_not_stopped(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name gets another cluster: the old one is stopped, unless it is a lab's shared one."""

    def rebound(old: SharedCluster) -> list[SharedCluster]:
        reader.names["cluster"] = old
        reader.guide.begin("cluster = SharedCluster()")
        reader.names["cluster"] = SharedCluster()
        return reader.guide.end()

    module = SimpleNamespace(Cluster=SharedCluster)
    monkeypatch.setitem(sys.modules, "engine.cluster.cluster", module)
    own, shared = SharedCluster(), SharedCluster()
    shared_clusters.add(shared)
    assert rebound(own) == [own]
    assert rebound(shared) == []


def test_what_the_learner_made_is_nobody_elses(reader: Reader) -> None:
    reader.run(BOOK[2])
    reader.run("pot, guess = 'mine', ask('me')")
    assert reader.run(BOOK[4]) == ""


def test_a_notebook_that_was_saved_again_is_read_again(reader: Reader, folder: Path) -> None:
    assert reader.fail("kettle.boil()") == ""
    path = folder / "lab.ipynb"
    path.write_text(path.read_text().replace("pot = brew(cluster, Cluster)", "kettle = Kettle()"))
    reader.fail(BOOK[2])
    assert "kettle = Kettle()" in reader.fail("kettle.boil()")


def test_of_cells_that_are_alike_that_of_the_open_notebook_is_meant(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = (folder / "lab.ipynb").read_text().replace("Tea", "Milk")
    (folder / "early.ipynb").write_text(other.replace("Coffee", "Cocoa"))
    assert "(in “Milk”)" in Reader(folder).fail(BOOK[4])
    monkeypatch.setenv("JPY_SESSION_NAME", "labs/lab.ipynb")
    reader = Reader(folder)
    assert "(in “Tea”)" in reader.fail(BOOK[4])
    monkeypatch.delenv("JPY_SESSION_NAME")
    assert "(in “Coffee”)" in reader.fail(BOOK[8])  # it is the same notebook as before


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"worksheets": []}', '{"cells": [{}]}'])
def test_a_file_that_is_no_notebook_is_left_alone(reader: Reader, folder: Path, text: str) -> None:
    (folder / "a.ipynb").write_text(text)
    (folder / "gone.ipynb").symlink_to(folder / "nowhere")
    assert "Run that one first" in reader.fail(BOOK[4])


def raised(by: Callable[[], object]) -> BaseException:
    try:
        by()
    except Exception as error:
        return error
    raise AssertionError("it went well")


def refusing() -> None:
    raise ApiException(ErrorCode.invalid_config, "there is no key acsk; did you mean acks?")


def test_a_refusal_from_below_speaks_for_itself(
    reader: Reader, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = raised(refusing)
    assert reader.fail(BOOK[2], error) == ""  # the learner's own, as far as anyone can tell
    monkeypatch.setitem(globals(), "__name__", "engine.broker")
    told = reader.fail(BOOK[2], error)
    assert told.startswith("ApiException: there is no key acsk; did you mean acks?\n")
    assert "%tb" in told


def test_what_a_future_raises_speaks_for_itself(reader: Reader) -> None:
    """The admin client's answers come from another thread, so none of our frames is below."""
    future: Future[None] = Future()
    future.set_exception(ApiException(ErrorCode.invalid_partitions, "there are 12 already"))
    told = reader.fail(BOOK[2], raised(future.result))
    assert told.startswith("ApiException: there are 12 already\n")
    other: Future[None] = Future()
    other.set_exception(ValueError("the learner's own"))
    assert reader.fail(BOOK[2], raised(other.result)) == ""


NESTED = """\
the query ended: Traceback (most recent call last):
  File "types.py", line 3654, in index
ValueError: 'guest' is not in list

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "types.py", line 3661, in __getattr__
    raise AttributeError(name)
AttributeError: there is no column guest
=== Streaming Query ==="""


def test_of_a_traceback_in_a_message_only_its_end_is_told(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark tells so of an error in a function of the learner's that it has called."""

    def ended() -> None:
        raise RuntimeError(NESTED)

    error = raised(ended)
    monkeypatch.setitem(globals(), "__name__", "pyspark.errors")
    first, *_ = reader.fail(BOOK[2], error).splitlines()
    assert first == "RuntimeError: the query ended: AttributeError: there is no column guest"


def test_a_bare_assert_of_ours_keeps_its_traceback(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "__name__", "engine.broker")

    def wrong() -> None:
        raise AssertionError

    assert reader.fail(BOOK[2], raised(wrong)) == ""


# -- the labs --------------------------------------------------------------------------------


@pytest.fixture(params=sorted(LABS.glob("*.ipynb")), ids=lambda path: path.stem)
def lab(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.mark.parametrize("times", [1, 2])
def test_whoever_reads_from_top_to_bottom_never_hears_of_it(lab: Path, times: int) -> None:
    reader = Reader(LABS)
    for cell in Notebook(lab).cells:
        for _ in range(times):
            assert reader.run(cell.source) == "", cell.source


def test_a_section_stands_alone_once_the_lab_is_set_up(lab: Path) -> None:
    """But for the first lab, which is one story of ten minutes."""
    learner, reader = Learner(lab), Reader(LABS)
    first = learner.cells[0].source
    reader.run(first)
    for section in reversed(learner.sections()) if lab.stem != "00_start" else ():
        made = Code(first).makes | set(dir(builtins))
        for cell in section:
            code = Code(cell.source)
            assert code.needs <= made, f"{cell.id} needs {code.needs - made}"
            assert reader.run(cell.source) == "", cell.id
            made |= code.makes


def test_names_that_a_block_makes_for_itself_are_not_missing() -> None:
    code = Code(
        "try:\n    for it in range(3):\n        n = it\n        m = n\nexcept OSError as e:\n    e"
    )
    assert code.needs == {"range", "OSError"}
    assert "e" not in code.makes
    assert {"n", "m"} <= code.makes


def test_a_function_with_async_needs_nothing_before_it_is_called() -> None:
    code = Code("async def send(topic):\n    message = topic")
    assert (code.makes, code.needs) == ({"send"}, set())
