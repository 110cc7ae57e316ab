"""The switch of a lab: one line, which is turned, and a word that is refused."""

import json
from pathlib import Path

import pytest

from engine.errors import ApiException
from widgets.metadata_switch import KRAFT, VARIABLE, ZOOKEEPER, has_switch, switched, wanted

LABS = Path(__file__).parents[3] / "labs"
SWITCHED = ["00_start", "02_replication", "03_rebalance", "06_sending", "07_promises", "08_speed"]
LINE = 'metadata = "zookeeper"  # change me: kraft'


def test_the_line_is_turned_and_turned_back() -> None:
    cell = f"from replication import real\n\n{LINE}\ncluster = real.cluster(metadata)"
    turned = switched(cell, KRAFT)
    assert 'metadata = "kraft"  # change me: zookeeper\n' in turned
    assert switched(turned, ZOOKEEPER) == cell
    assert switched("metadata = 7", KRAFT) == "metadata = 7"


@pytest.mark.parametrize("lab", SWITCHED)
def test_each_of_these_labs_has_one_switch_and_begins_with_zookeeper(lab: str) -> None:
    cells = json.loads((LABS / f"{lab}.ipynb").read_text())["cells"]
    found = ["".join(it["source"]) for it in cells if has_switch("".join(it["source"]))]
    assert len(found) == 1 and LINE in found[0]


def test_no_other_lab_has_one() -> None:
    found = {it.stem for it in LABS.glob("*.ipynb") if '"metadata = \\"' in it.read_text()}
    assert found == set(SWITCHED)


def test_the_environment_chooses_and_a_wrong_word_ends_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert wanted() == ZOOKEEPER
    monkeypatch.setenv(VARIABLE, KRAFT)
    assert wanted() == KRAFT
    monkeypatch.setenv(VARIABLE, "kraf")
    with pytest.raises(ApiException, match="BROKERLAB_METADATA=kraf: it may be zookeeper or kraft"):
        wanted()
