"""Old addresses of labs on the site lead to the labs of today."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
LABS = {path.stem for path in (ROOT / "labs").glob("*.ipynb")}


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/site/{name}.py")
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_an_old_address_leads_to_a_lab_and_is_no_lab_s_own() -> None:
    moved = module("moved").MOVED
    assert {*moved.values()} <= LABS
    assert not moved.keys() & LABS


@pytest.mark.parametrize("there", [True, False])
def test_a_moved_page_is_followed_like_every_other(tmp_path: Path, there: bool) -> None:
    """The site's own check finds a page whose target is missing."""
    (tmp_path / "labs").mkdir()
    moved = module("moved")
    for new in moved.MOVED.values() if there else ():
        (tmp_path / "labs" / f"{new}.html").write_text("<html></html>", encoding="utf-8")
    moved.write(tmp_path)
    faults = module("links").check(tmp_path).faults
    assert bool(faults) != there
