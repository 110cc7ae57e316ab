"""Only the jars that jars.sha256 names are used, and what is missing is told in a sentence."""

import os
import shutil

import pytest

from tests.real import jars


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copytree(jars.JARS, tmp_path / "jars", copy_function=os.link)
    monkeypatch.setattr(jars, "JARS", tmp_path / "jars")
    jars.check()
    return tmp_path / "jars"


def test_a_jar_that_was_changed_is_refused(folder):
    changed = folder / "kafka-clients-2.8.2.jar"
    data = bytearray(changed.read_bytes())
    data[1000] ^= 1
    changed.unlink()
    changed.write_bytes(data)
    (folder / "other-1.0.jar").write_bytes(b"")
    (folder / "jopt-simple-5.0.4.jar").unlink()
    with pytest.raises(jars.JarsMissing) as refusal:
        jars.check()
    names = "jopt-simple-5.0.4.jar, kafka-clients-2.8.2.jar, other-1.0.jar in "
    assert str(refusal.value).startswith(names)


def test_without_maven_a_sentence_says_what_to_install(folder, monkeypatch):
    (folder / "kafka-clients-2.8.2.jar").unlink()
    monkeypatch.setattr(shutil, "which", lambda name: None)
    told = jars.main([])
    assert "there is no `mvn`: on Debian and Ubuntu `sudo apt install maven " in told


def test_without_a_compiler_a_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(jars.java, "find", lambda: tmp_path / "java")
    told = jars.main([])
    assert told.startswith(f"{tmp_path} has a Java without compiler (`javac`): ")
