"""The line of a lab that says what holds its cluster's metadata: ZooKeeper, or a quorum (KRaft).

    metadata = "zookeeper"  # change me: kraft
    metadata = "kraft"  # change me: zookeeper

BROKERLAB_METADATA=kraft has JupyterLab open the labs with the second line; so does Binder, where a
JVM takes a part of the memory that a learner has. nbval runs the labs with either of them.
"""

import os
import re

from engine.errors import invalid_config

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
VARIABLE = "BROKERLAB_METADATA"
OTHER = {ZOOKEEPER: KRAFT, KRAFT: ZOOKEEPER}
LINE = re.compile(r'^metadata = "\w+"  # change me: \w+$', re.MULTILINE)


def wanted() -> str:
    """The mode that the environment names; ZooKeeper, if it names none."""
    mode = os.environ.get(VARIABLE) or ZOOKEEPER
    if mode not in OTHER:
        raise invalid_config(f"{VARIABLE}={mode}: it may be {ZOOKEEPER} or {KRAFT}")
    return mode


def has_switch(source: str) -> bool:
    return LINE.search(source) is not None


def switched(source: str, mode: str) -> str:
    """The source of a cell with its switch in this mode; another cell's as it is."""
    return LINE.sub(f'metadata = "{mode}"  # change me: {OTHER[mode]}', source)
