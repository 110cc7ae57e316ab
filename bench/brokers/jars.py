"""The jars of the peers that are written in Java, and of all clients; and our Java classes.

pom.xml ── mvn ──> build/brokers/jars/*.jar ── compared with jars.sha256 ──> used
java/*.java ── javac ──> build/brokers/classes/

python -m bench.brokers.jars           copy what is missing, check all, compile
python -m bench.brokers.jars --note    write jars.sha256 anew, after a change of pom.xml
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from engine.cluster import java

HERE = Path(__file__).resolve().parent
SUMS = HERE / "jars.sha256"  # a line for each jar, as sha256sum writes it
BUILD = HERE.parents[1] / "build" / "brokers"
JARS, CLASSES = BUILD / "jars", BUILD / "classes"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
INSTALL = "on Debian and Ubuntu `sudo apt install maven default-jdk-headless` installs both"
SERVER_FLAGS = ("-Xms512m", "-Xmx1g", "-XX:-UsePerfData", "-Djava.awt.headless=true")
ROCKET_FLAGS = (  # it calls what a Java after 8 hides
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)


class JarsMissing(OSError):
    """The jars are not here, or not as they should be; the message says what to do."""


def installed() -> bool:
    return SUMS.exists() and present() == expected()


def resolve() -> None:
    """Copy the jars unless all are there, and check them."""
    if installed():
        return
    if (maven := shutil.which("mvn")) is None:
        raise JarsMissing(f"the jars come by Maven, and there is no `mvn`: {INSTALL}")
    shutil.rmtree(JARS, ignore_errors=True)
    command = [maven, "-q", "-B", "-f", HERE / "pom.xml", COPY, f"-DoutputDirectory={JARS}"]
    done = subprocess.run(
        [*command, "-DincludeScope=runtime"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise JarsMissing(f"`mvn` did not get the jars:\n{done.stdout}{done.stderr}")


def check() -> None:
    found, sums = present(), expected()
    if names := sorted(it for it in found.keys() | sums.keys() if found.get(it) != sums.get(it)):
        raise JarsMissing(f"{', '.join(names)} in {JARS}: missing, unknown, or not as in {SUMS}")


def compile_classes() -> None:
    compiler = Path(java.find()).resolve().with_name("javac")
    if not compiler.exists():
        raise JarsMissing(f"{compiler.parent} has a Java without compiler (`javac`): {INSTALL}")
    CLASSES.mkdir(parents=True, exist_ok=True)
    sources, done = sorted((HERE / "java").glob("*.java")), CLASSES / "Load.class"
    if done.exists() and all(it.stat().st_mtime < done.stat().st_mtime for it in sources):
        return
    command = [compiler, "-nowarn", "-cp", f"{JARS}/*", "-d", CLASSES, *sources]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    if said.returncode:
        raise JarsMissing(f"`javac` refuses:\n{said.stderr}")


def expected() -> dict[str, str]:
    """Each jar's checksum, by its name."""
    lines = (line.split() for line in SUMS.read_text().splitlines())
    return {name: checksum for checksum, name in lines}


def present() -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(JARS.glob("*.jar"))
    }


def java_version() -> str:
    return f"Java {java.ask(java.find()).release}"


def prepare() -> None:
    resolve()
    check()
    compile_classes()


def main(arguments: list[str]) -> str:
    try:
        if arguments == ["--note"]:
            SUMS.unlink(missing_ok=True)
            resolve()
            SUMS.write_text("".join(f"{it}  {name}\n" for name, it in present().items()))
        prepare()
    except OSError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
