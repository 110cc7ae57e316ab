"""Files with the bytes of simulated logs, which are in memory, for the pictures of a segment.

    MemoryLog  | batch | batch |  ──>  broker-2/orders-0/00000000000000000000.log

The bytes are those that a broker writes. There is one segment, and no index: a simulated log has
neither.
"""

from pathlib import Path

from engine.cluster.scratch import Scratch
from engine.sim.world import World
from engine.storage.segment import file_name


class LogFiles:
    def __init__(self, world: World) -> None:
        self._world = world
        self._scratch: Scratch | None = None
        self._written: dict[Path, tuple[int, int]] = {}  # by file: the log's end, and its cuts

    def of(self, broker: int) -> Path:
        """The directory of a broker; from now on `refresh` keeps the files up to date."""
        if self._scratch is None:
            self._scratch = Scratch()
        self.refresh()
        return self._scratch.path / f"broker-{broker}"

    def remove(self) -> None:
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None

    def refresh(self) -> None:
        """Write the logs that have changed, once somebody has asked for a directory."""
        if self._scratch is None:
            return
        for broker, node in self._world.nodes.items():
            for partition, log in node.disk.logs.items():
                folder = self._scratch.path / f"broker-{broker}" / str(partition)
                path, known = folder / file_name(0, ".log"), (log.end_offset, log.cuts)
                if self._written.get(path) != known:
                    folder.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(b"".join(stored.data for stored in log.batches))
                    self._written[path] = known
