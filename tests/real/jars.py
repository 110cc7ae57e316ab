"""The jars of Kafka 2.8.2, its tools, Kafka Streams and Spring for Apache Kafka.

`make real` copies them to build/real/jars:

    pom.xml  ── mvn ──> build/real/jars/*.jar  ── compared with jars.sha256 ──> used

Maven takes them from the repository that this machine's settings name. Maven checks what it
downloads only against that repository; jars.sha256 is ours, so a jar that was changed is refused.

    python -m tests.real.jars           copy what is missing, and check all
    python -m tests.real.jars --note    write jars.sha256 anew, after a change of pom.xml
"""

import hashlib
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from engine.cluster import java
from engine.cluster.kafka_process import MADE

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
SUMS = HERE / "jars.sha256"  # a line for each jar, as sha256sum writes it
BUILD = HERE.parents[1] / "build" / "real"
JARS = MADE
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
INSTALL = "on Debian and Ubuntu `sudo apt install maven default-jdk-headless` installs both"


class JarsMissing(OSError):
    """Kafka's jars are not here, or not as they should be; the message says what to do."""


def resolve() -> None:
    """Copy the jars unless all are there, and check them."""
    if not SUMS.exists() or wrong(expected()):
        if (maven := shutil.which("mvn")) is None:
            raise JarsMissing(f"Kafka's jars come by Maven, and there is no `mvn`: {INSTALL}")
        shutil.rmtree(JARS, ignore_errors=True)
        command = [maven, "-q", "-B", "-f", POM, COPY, f"-DoutputDirectory={JARS}"]
        done = subprocess.run(
            [*command, "-DincludeScope=runtime"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise JarsMissing(f"`mvn` did not get Kafka's jars:\n{done.stdout}{done.stderr}")


def check() -> None:
    """All jars are here, unchanged, and so are a Java and its compiler."""
    if names := wrong(expected()):
        raise JarsMissing(
            f"{', '.join(names)} in {JARS} is missing, unknown, or not as in {SUMS.name}: "
            "`make real` gets Kafka's jars"
        )
    compiler()


def compiler() -> Path:
    """The `javac` of the Java that runs the brokers; Kafka Streams' application is in Java."""
    found = Path(java.find()).resolve().with_name("javac")
    if not found.exists():
        raise JarsMissing(f"{found.parent} has a Java without compiler (`javac`): {INSTALL}")
    return found


@cache
def compiled(source: Path) -> Path:
    """The folder with the classes of a Java program that uses the jars."""
    folder = BUILD / "classes"
    run = [compiler(), "-cp", f"{JARS}/*", "-d", folder, source]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode:
        raise JarsMissing(f"{source.name} can't be compiled:\n{done.stderr}")
    return folder


@cache
def expected() -> dict[str, str]:
    """Each jar's checksum, by its name."""
    lines = (line.split() for line in SUMS.read_text().splitlines())
    return {name: checksum for checksum, name in lines}


def present() -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(JARS.glob("*.jar"))
    }


def wrong(sums: dict[str, str]) -> list[str]:
    """Jars that are missing, changed, or not in the list."""
    found = present()
    return sorted(name for name in sums.keys() | found.keys() if sums.get(name) != found.get(name))


def main(arguments: list[str]) -> str:
    try:
        java.find()
        if arguments == ["--note"]:
            SUMS.unlink(missing_ok=True)
            resolve()
            SUMS.write_text("".join(f"{sum}  {name}\n" for name, sum in present().items()))
        resolve()
        check()
    except OSError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
