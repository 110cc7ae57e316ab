"""The oracle's page on the site: as many situations as it says, each with its link to a lab."""

import sys
from pathlib import Path

import pytest

from oracle.kinds import KINDS
from oracle.situation import ask
from widgets.oracle.sections import lab_links

ROOT = Path(__file__).resolve().parents[2]


def test_a_recorded_situation_is_what_the_run_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    import oracle_page  # noqa: PLC0415 - it stands where only the site's build finds it

    text = (ROOT / "docs" / "oracle.md").read_text(encoding="utf-8")
    assert f"{oracle_page.EACH * len(KINDS)} situations" in text
    assert f"of {len(KINDS)} kinds" in text
    assert oracle_page.EACH * len(KINDS) >= 100
    for name in ("next-leader", "index-lookup"):
        found, question = oracle_page.recorded(name, 3), ask(KINDS[name], name, 3)
        assert found["options"][found["right"]][0] == question.options[question.right].text
        assert found["why"] == question.why
        lab, heading = found["heading"]
        assert f"{lab}.ipynb#{heading.replace(' ', '-')}" == lab_links()[question.section].address
    sys.modules.pop("oracle_page", None)
