"""What GitHub runs and asks: it can be parsed, and every command in it is one that we have."""

import re
import tomllib
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))
CALL = re.compile(r"(?:^ {4}|`|: )make ([^`#\n]+)", re.M)  # in code, or as a workflow's step

named = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def parsed(path: Path) -> dict[Any, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    return content


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z]+):", makefile, re.M))


def called(text: str) -> set[str]:
    """make setup check ARGS=-x: the words up to the first that is none."""
    calls = (call.split() for call in CALL.findall(text))
    return {word for words in calls for word in takewhile(str.isalpha, words)}


@named
def test_a_workflow_calls_only_what_can_be_made(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert called(text)
    assert called(text) - targets() == set()


def test_a_target_that_is_not_there_is_found() -> None:
    text = "- run: make setup haste ARGS=-x # now\n  Who can make sense?\n\n    make waste\n"
    assert called(text) - targets() == {"haste", "waste"}


@named
def test_every_step_runs_or_uses_something_of_a_pinned_version(path: Path) -> None:
    workflow = parsed(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert True in workflow  # `on`, which YAML 1.1 takes for a truth
    for step in steps(workflow):
        assert ("run" in step) != ("uses" in step), step
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/x@v1")), step


@named
def test_no_job_runs_for_ever(path: Path) -> None:
    jobs = parsed(path)["jobs"]
    waiting = [name for name, job in jobs.items() if "timeout-minutes" not in job]
    assert waiting == (["publish"] if "publish" in jobs else [])


def test_every_python_that_we_promise_is_tried() -> None:
    """The oldest and the newest with each change, those between at night."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    tried = re.search(r"^TRIED .*\(3, (\d+)\) <= .* < \(3, (\d+)\)", makefile, re.M)
    assert tried and project["requires-python"] == f">=3.{tried[1]}"
    oldest, *between, newest = (f"3.{minor}" for minor in range(int(tried[1]), int(tried[2])))
    matrix = parsed(ROOT / ".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == [oldest, newest]
    jobs = parsed(ROOT / ".github/workflows/long.yml")["jobs"]["long"]["strategy"]["matrix"]
    nightly = [job["python"] for job in jobs["include"] if job["what"] == "test"]
    assert nightly == between


def test_ci_runs_what_a_developer_runs() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)
    assert {"check", "test", "browser", "streams", "rehearse", "site", "long"} <= called(text)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_and_can_be_filled_in(path: Path) -> None:
    form = parsed(path)
    assert form["name"] and form["description"]
    ids = [field["id"] for field in form["body"]]
    assert all(isinstance(each, str) for each in ids) and len(set(ids)) == len(ids)
    for field in form["body"]:
        assert field["type"] in ("input", "textarea", "dropdown")
        assert field["attributes"]["label"]
    assert any(field.get("validations", {}).get("required") for field in form["body"])


def test_there_is_a_form_for_a_bug_a_wrong_claim_and_an_idea() -> None:
    assert [path.stem for path in FORMS] == ["1-bug", "2-wrong-claim", "3-idea"]


def test_the_pages_for_newcomers_name_only_commands_that_exist() -> None:
    for name in ("CONTRIBUTING.md", ".github/PULL_REQUEST_TEMPLATE.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert called(text) and called(text) <= targets(), name
