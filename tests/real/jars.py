"""The jars of Kafka 2.8.2 with its tools, Streams and Spring; of 3.3.2, 3.9.1 and 4.1.1.

`make real` copies them to folders of build/real:

    pom.xml            ── mvn ──> jars/*.jar       ── compared with jars.sha256 ──> used
    kafka_3_3.pom.xml  ── mvn ──> kafka-3.3/*.jar  ── compared with kafka_3_3.sha256 ──> used
    kraft.pom.xml      ── mvn ──> kraft/*.jar      ── compared with kraft.sha256 ──> used
    kafka_4.pom.xml    ── mvn ──> kafka-4/*.jar    ── compared with kafka_4.sha256 ──> used

Maven takes them from the repository that this machine's settings name. Maven checks what it
downloads only against that repository; the checksums are ours, so a changed jar is refused.

    python -m tests.real.jars           copy what is missing, and check all
    python -m tests.real.jars --note    write the checksums anew, after a change of a pom
"""

import hashlib
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from engine.cluster import java
from engine.cluster.kafka_process import MADE

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
SUMS = HERE / "jars.sha256"
BUILD = HERE.parents[1] / "build" / "real"
JARS = MADE
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
INSTALL = "on Debian and Ubuntu `sudo apt install maven default-jdk-headless` installs both"


class JarSet(NamedTuple):
    """The jars of one release, and where they come from."""

    pom: Path
    sums: Path  # a line for each jar, as sha256sum writes it
    folder: Path


KAFKA_3_3 = JarSet(HERE / "kafka_3_3.pom.xml", HERE / "kafka_3_3.sha256", BUILD / "kafka-3.3")
KRAFT = JarSet(HERE / "kraft.pom.xml", HERE / "kraft.sha256", BUILD / "kraft")
KAFKA_4 = JarSet(HERE / "kafka_4.pom.xml", HERE / "kafka_4.sha256", BUILD / "kafka-4")


def kafka_2_8() -> JarSet:
    return JarSet(POM, SUMS, JARS)


class JarsMissing(OSError):
    """Kafka's jars are not here, or not as they should be; the message says what to do."""


def resolve(jars: JarSet) -> None:
    """Copy the jars unless all are there, and check them."""
    if not jars.sums.exists() or wrong(jars):
        if (maven := shutil.which("mvn")) is None:
            raise JarsMissing(f"Kafka's jars come by Maven, and there is no `mvn`: {INSTALL}")
        shutil.rmtree(jars.folder, ignore_errors=True)
        command = [maven, "-q", "-B", "-f", jars.pom, COPY, f"-DoutputDirectory={jars.folder}"]
        done = subprocess.run(
            [*command, "-DincludeScope=runtime"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise JarsMissing(f"`mvn` did not get Kafka's jars:\n{done.stdout}{done.stderr}")


def check(jars: JarSet | None = None) -> None:
    """All jars (of 2.8.2) are here, unchanged, and so are a Java and its compiler."""
    jars = jars or kafka_2_8()
    if names := wrong(jars):
        raise JarsMissing(
            f"{', '.join(names)} in {jars.folder} is missing, unknown, or not as in "
            f"{jars.sums.name}: `make real` gets Kafka's jars"
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
def expected(sums: Path) -> dict[str, str]:
    """Each jar's checksum, by its name."""
    lines = (line.split() for line in sums.read_text().splitlines())
    return {name: checksum for checksum, name in lines}


def present(jars: JarSet) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(jars.folder.glob("*.jar"))
    }


def wrong(jars: JarSet) -> list[str]:
    """Jars that are missing, changed, or not in the list."""
    sums, found = expected(jars.sums), present(jars)
    return sorted(name for name in sums.keys() | found.keys() if sums.get(name) != found.get(name))


def main(arguments: list[str]) -> str:
    try:
        java.find()
        for jars in (kafka_2_8(), KAFKA_3_3, KRAFT, KAFKA_4):
            if arguments == ["--note"]:
                jars.sums.unlink(missing_ok=True)
                resolve(jars)
                lines = (f"{sum}  {name}\n" for name, sum in present(jars).items())
                jars.sums.write_text("".join(lines))
            resolve(jars)
            check(jars)
    except OSError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
