"""The address to which pages of the site link for code: no placeholder, and no made-up one."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def address() -> ModuleType:
    spec = importlib.util.spec_from_file_location("address", ROOT / "docs/site/address.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("remote", "found"),
    [
        ("https://github.com/us/broker-lab.git", "https://github.com/us/broker-lab"),
        ("https://github.com/us/broker-lab/", "https://github.com/us/broker-lab"),
        ("https://me:secret@github.com/us/broker-lab", "https://github.com/us/broker-lab"),
        ("git@github.com:us/broker-lab.git", "https://github.com/us/broker-lab"),
        ("ssh://git@host.example:2222/group/sub/lab.git", "https://host.example/group/sub/lab"),
        ("/srv/git/broker-lab.git", ""),
        ("../broker-lab", ""),
        ("file:///srv/git/broker-lab.git", ""),
        ("", ""),
    ],
)
def test_a_remote_is_an_address_on_the_web_or_none(
    address: ModuleType, remote: str, found: str
) -> None:
    assert address.on_the_web(remote) == found


def test_the_address_that_was_given_is_taken(
    address: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(address.GIVEN, "git@github.com:us/broker-lab.git")
    assert address.address() == "https://github.com/us/broker-lab"
    monkeypatch.setenv(address.GIVEN, "")
    assert address.address() == ""
