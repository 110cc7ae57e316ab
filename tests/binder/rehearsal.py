"""A rehearsal of Binder: its steps and its limits, without Docker; and then the labs.

    make rehearse                              the image, and labs 00 to 04 in it
    make rehearse ARGS='--labs 00_start'       some labs only
    make rehearse ARGS='--in FOLDER'           keep the image there, or use the one that is there

The image is made as repo2docker's Dockerfile says (image.py), everything runs in a cage with
Binder's limits (cage.py), JupyterLab is started as Binder does it (server.py) and stays, and each
lab is run by nbval, which compares what it shows with what is saved. Figures: docs/binder.md.
"""

import argparse
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.binder.cage import MEMORY, Cage, Seen
from tests.binder.image import ROOT, BuildError, Image
from tests.binder.server import faults, running

CELL = 300  # seconds, on a core that may be busy otherwise
WITH_SPARK = {"04_streams"}
SPARK = "SparkSubmit"
MB = 2**20


def lab(image: Image, name: str) -> Seen:
    command = ["python", "-m", "pytest", "-q", "-c", str(image.tools / "pytest.ini")]
    command += ["--rootdir", str(image.work), "--nbval"]
    command += ["--nbval-cell-timeout", str(CELL), f"labs/{name}.ipynb"]
    log = image.cage.folder / f"{name}.log"
    return image.cage.run(command, image.work, log, {"PYTHONPATH": str(image.tools)})


def verdict(name: str, seen: Seen) -> list[str]:
    """What speaks against it; nothing if it has passed."""
    against = []
    if seen.code != 0:
        against.append("took too long" if seen.code is None else f"nbval ended with {seen.code}")
    if seen.peak > MEMORY:
        against.append(f"over {MEMORY / MB:.0f} MB")
    if seen.killed:
        against.append(f"{seen.killed} processes killed for want of memory")
    if seen.left:
        against.append(f"{seen.left} processes left behind")
    if SPARK in seen.javas and name not in WITH_SPARK:
        against.append("Spark was started")
    return against


def rehearse(image: Image, names: list[str]) -> bool:
    """Whether all went well."""
    print("The image:", flush=True)
    image.build()
    plain, packed = image.size()
    print(f"  adds {plain / MB:.0f} MB to what every image has, some {packed / MB:.0f} MB packed")
    image.close_home()
    print("JupyterLab, as Binder starts it:", flush=True)
    with running(image) as server:
        missed = faults(server)
        for what in missed:
            print(f"  FAIL, this should hold: {what}")
        used = image.cage.used()
        print(
            f"  {'FAIL' if missed else 'PASS'}, {used / MB:.0f} MB, which the labs' figures include"
        )
        print(f"The labs, within {MEMORY / MB:.0f} MB:", flush=True)
        results = [report(name, lab(image, name)) for name in names]
    return all(results) and not missed


def report(name: str, seen: Seen) -> bool:
    against = verdict(name, seen)
    line = f"  {name:16}{seen.seconds:5.0f} s{seen.peak / MB:7.0f} MB   "
    line += f"{', '.join(sorted(seen.javas)) or 'no Java'}   "
    print(line + (f"FAIL: {'; '.join(against)}" if against else "PASS"), flush=True)
    return not against


def main() -> int:
    labs = sorted(path.stem for path in ROOT.glob("labs/*.ipynb"))
    parser = argparse.ArgumentParser(prog="make rehearse", description="Rehearse Binder's image.")
    parser.add_argument("--labs", nargs="+", metavar="LAB", choices=labs, default=labs)
    parser.add_argument("--in", dest="folder", type=Path, help="keep everything in this folder")
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="brokerlab-binder-"))
    folder = folder.resolve()
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and nothing is left behind
    cage = Cage(folder)
    image = Image(cage)
    print(f"The cage: {'; '.join(cage.describe())}; a Java that does not run.")
    try:
        well = rehearse(image, asked.labs)
    except (BuildError, TimeoutError) as error:
        print(f"\n{error}")
        well = False
    finally:
        cage.close()
        image.open_home()
    if well and not asked.folder:
        shutil.rmtree(folder)
    else:
        print(f"What was said is in {folder}/*log")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
