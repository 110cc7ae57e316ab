"""The machine that a measurement was made on, in one line under its chart."""

import os
import platform
import sys
from functools import cache
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


@cache
def machine() -> str:
    """2 cores of an Intel Xeon, 4 GB of memory, Linux 6.18 on x86_64, Python 3.12.3"""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    release = ".".join(platform.release().split("-")[0].split(".")[:2])
    model = _model()
    return (
        f"Measured on {cores} {'core' if cores == 1 else 'cores'}{f' ({model})' if model else ''}, "
        f"{memory:.0f} GB of memory, {platform.system()} {release} on {platform.machine()}, "
        f"Python {platform.python_version()}"
    )


def _model() -> str:
    """The processor's name, where the system tells it."""
    if not CPUINFO.exists():
        return ""
    for line in CPUINFO.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.partition("@")[0].strip()
    return ""
