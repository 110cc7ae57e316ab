"""Disks that fail, of brokers with three log directories each.

    disk gone      there is a file in the place of the directory: nothing can be opened there
    disk full      ENOSPC, as soon as a checkpoint is written
    disk unsafe    an error at the flush of a checkpoint

    broker-1/disk1/chaos-0/ ...     broker-1/disk2/ ...     broker-1/disk3/ ...

Nothing is simulated: the operating system itself refuses the calls of the broker. So the faults
need no rights, and root meets them too. The broker takes the directory offline, and the replicas
there are led by others from then on.

A disk is mended while its broker is stopped. If no partition needs that broker any more, because
others are in sync, the disk comes back empty, as a new one does: then what was acknowledged has to
be on the others. Otherwise it comes back with all that is on it.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

from engine.cluster.cluster import Cluster
from engine.raft.metadata_directory import METADATA_PARTITION
from engine.storage import checkpoints

DISKS = ("disk1", "disk2", "disk3")
AWAY = ".away"  # the name of a disk while there is a file in its place
DRAFT = f"{checkpoints.HIGH_WATERMARK}.tmp"  # a checkpoint is written here first


def give_disks(cluster: Cluster) -> None:
    """Before the cluster starts: each broker gets its three directories. Its copy of the metadata
    log is beside them: without that disk it would stop."""
    for broker in cluster.brokers:
        names = ",".join(map(str, disks_of(cluster, broker)))
        home = {"metadata.log.dir": str(cluster.directory(broker))} if cluster.is_kraft else {}
        cluster.configure(broker, {"log.dirs": names, **home})


def disks_of(cluster: Cluster, broker: int) -> list[Path]:
    return [cluster.directory(broker) / name for name in DISKS]


def logs_of(cluster: Cluster, broker: int) -> list[Path]:
    """The directories of its partitions, on one disk or on several."""
    home = cluster.directory(broker)
    found = [*home.glob("*-*/"), *home.glob("disk?/*-*/")]
    return sorted(log for log in found if log.name != str(METADATA_PARTITION))


def log_of(cluster: Cluster, broker: int, name: str) -> Path:
    """The directory of one partition; where it would be on one disk, if there is none."""
    found = [log for log in logs_of(cluster, broker) if log.name == name]
    return found[0] if found else cluster.directory(broker) / name


def take_away(disk: Path) -> None:
    disk.rename(disk.with_name(disk.name + AWAY))
    disk.write_text("this disk is gone\n")


def fill_up(disk: Path) -> None:
    (disk / DRAFT).symlink_to("/dev/full")


def refuse_to_flush(disk: Path) -> None:
    (disk / DRAFT).symlink_to("/dev/null")


DISK_FAULTS: dict[str, Callable[[Path], None]] = {
    "disk gone": take_away,
    "disk full": fill_up,
    "disk unsafe": refuse_to_flush,
}


def break_disk(fault: Callable[[Path], None], cluster: Cluster, broker: int, other: int) -> None:
    """`other`, the number of any broker, chooses the disk. Raises FileExistsError while the broker
    is writing a checkpoint there."""
    fault(disks_of(cluster, broker)[other % len(DISKS)])


def has_disks(cluster: Cluster, broker: int) -> bool:
    return all(disk.is_dir() for disk in disks_of(cluster, broker))


def mend(disk: Path) -> bool:
    """Undo the fault of a disk, while its broker is down. Returns whether there was one."""
    draft, away = disk / DRAFT, disk.with_name(disk.name + AWAY)
    if away.exists():
        disk.unlink()
        away.rename(disk)
        return True
    if draft.is_symlink():
        draft.unlink()
        return True
    return False


def mend_disks(cluster: Cluster, broker: int, is_redundant: Callable[[], bool]) -> None:
    """Stop the broker, mend its disks, and start it again."""
    cluster.stop_broker(broker)
    mended = [disk for disk in disks_of(cluster, broker) if mend(disk)]
    if mended and is_redundant():
        for disk in mended:
            shutil.rmtree(disk)
    cluster.restart(broker)
