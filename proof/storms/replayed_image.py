"""The image that the committed records make, by a loader that goes from log to log.

It reads the log of whichever controller knows most, and only records that are committed there.
"""

from engine.metadata.image import MetadataImage
from engine.raft.metadata_loader import MetadataLoader
from engine.sim.quorum.metadata import QuorumMetadata


class ReplayedImage:
    def __init__(self) -> None:
        self.image = MetadataImage()

    def advance(self, quorum: QuorumMetadata) -> None:
        """Apply what has been committed since the last time."""
        known = [
            (node.controller.loader.image.offset, id)
            for id, node in quorum.controllers.items()
            if node.controller is not None
        ]
        end, id = max(known)
        if end <= self.image.offset:
            return
        controller = quorum.controllers[id].controller
        assert controller is not None
        loader = MetadataLoader(controller.raft.client.log)
        loader.image = self.image
        loader.committed(end + 1)
        self.image = loader.image
