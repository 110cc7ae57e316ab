"""The first lab at a real kernel: twice, in any order, interrupted, and begun anew in mid-lab.

The other labs have the same done to them by `make order`, which takes its time (orders.py).
"""

import subprocess
from pathlib import Path

import pytest

from tests.interop.watch import until
from tests.labs.order import LABS, Learner, shuffled, twice

LAB = LABS / "00_start.ipynb"
PLACE = "print(cluster.data, *(cluster.child(each).pid for each in cluster.brokers))"
SEED = 12  # with many others read comes before record, and looks for one for a minute


def gone(pid: str) -> bool:
    command = ["ps", "-o", "stat=", "-p", pid]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1] in ("", "Z")


@pytest.mark.long
@pytest.mark.timeout(300)
def test_each_cell_twice() -> None:
    with Learner(LAB) as learner:
        for cell in twice(learner.cells):
            said = learner.run(cell)
            assert not said.error, said


@pytest.mark.timeout(300)
def test_in_any_order_a_cell_says_what_it_lacks() -> None:
    with Learner(LAB) as learner:
        said = [learner.run(cell) for cell in shuffled(learner.cells, SEED)]
        assert not [each for each in said if each.bare]
        lacking = [each for each in said if each.error == "NameError"]
        assert lacking
        assert all("Run th" in each.told for each in lacking)


def test_what_python_tells_best_is_left_to_it() -> None:
    with Learner(LAB) as learner:
        assert "----> 2     return 1 / 0" in learner.own("def tea():\n    return 1 / 0\ntea()").told
        mistyped = learner.own("x = (").told
        assert "x = (" in mistyped
        assert "IPython" not in mistyped
        refused = learner.own("from engine import Cluster\nCluster(brokers=0)")
        assert refused.told.startswith("ApiException: a cluster has brokers, not 0\n")
        assert "Cluster.__init__" in learner.own("%tb").told


@pytest.mark.timeout(300)
def test_interrupted_and_begun_anew_and_the_old_cluster_is_gone() -> None:
    with Learner(LAB) as learner:
        learner.run(learner.cell("cluster"))
        place, *old = learner.ask(PLACE).split()
        stopped = learner.run(learner.cell("read"), interrupt=True)  # there is no record yet
        assert stopped.error == "KeyboardInterrupt"
        assert stopped.told.startswith("Interrupted.")
        for name in ("record", "read"):
            assert not learner.run(learner.cell(name)).error

        learner.restart()

        until(lambda: all(map(gone, old)))
        until(lambda: not Path(place).exists())
        said = learner.run(learner.cell("kill"))
        assert "`cluster` is not there yet" in said.told
        assert not said.bare
        for name in ("cluster", "record", "read"):
            assert not learner.run(learner.cell(name)).error


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_name_that_is_given_another_cluster_lets_the_old_one_end() -> None:
    with Learner(LAB) as learner:
        for name in ("cluster", "view"):  # the picture would keep it
            learner.run(learner.cell(name))
        place, *_ = learner.ask(PLACE).split()
        assert not learner.run(learner.cell("cluster")).error
        until(lambda: not Path(place).exists())
        assert "Mind: `view`" in learner.run(learner.cell("cost")).printed
        assert learner.ask("print(view.trouble)").strip() == ""
