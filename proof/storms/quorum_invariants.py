"""Invariants of the metadata in a cluster without ZooKeeper; with it they have nothing to say.

    the image of each node is the replay of the committed log
    a fenced broker leads nothing
    a fenced broker is in an ISR only as its last member

That no two brokers lead one partition in one epoch is in invariants.py: it holds in both modes.
"""

from collections.abc import Iterator

from engine.metadata.image import MetadataImage
from engine.sim.quorum.metadata import QuorumMetadata
from proof.storms.observed_state import ObservedState


def the_image_is_the_replay_of_the_log(observed: ObservedState) -> Iterator[str]:
    """Each controller and each broker has the image that the committed records make. One that is
    behind is compared when it has caught up."""
    if not isinstance(quorum := observed.world.metadata, QuorumMetadata):
        return
    replayed = observed.replayed
    replayed.advance(quorum)
    for node, image in _images(observed, quorum):
        if image.offset == replayed.image.offset and image != replayed.image:
            yield f"the image of node {node} at offset {image.offset} is not the replay of the log"


def a_fenced_broker_leads_nothing(observed: ObservedState) -> Iterator[str]:
    """Neither does one that is not registered."""
    if not isinstance(quorum := observed.world.metadata, QuorumMetadata):
        return
    image = quorum.image
    for partition, state in image.partitions():
        broker = image.brokers.get(state.leader)
        if state.leader >= 0 and (broker is None or broker.fenced):
            yield f"broker {state.leader} leads {partition}, and is fenced"


def a_fenced_broker_is_in_sync_only_as_the_last(observed: ObservedState) -> Iterator[str]:
    """A fenced broker is in an ISR only alone: no election chooses between it and a live one."""
    if not isinstance(quorum := observed.world.metadata, QuorumMetadata):
        return
    image = quorum.image
    active = {id for id, broker in image.brokers.items() if not broker.fenced}
    for partition, state in image.partitions():
        fenced = {*state.isr} - active
        if fenced and len(state.isr) > 1:
            yield f"brokers {sorted(fenced)} are fenced, and in the ISR {state.isr} of {partition}"


def every_image_is_up_to_date(observed: ObservedState) -> Iterator[str]:
    """In the end no node has another image than the quorum, and no broker is fenced."""
    if not isinstance(quorum := observed.world.metadata, QuorumMetadata):
        return
    truth = quorum.image
    for node, image in _images(observed, quorum):
        if image.topics != truth.topics or image.brokers != truth.brokers:
            yield f"node {node} has the image of offset {image.offset}, not of {truth.offset}"
    fenced = sorted(id for id, broker in truth.brokers.items() if broker.fenced)
    if fenced:
        yield f"brokers {fenced} are fenced"


def _images(observed: ObservedState, quorum: QuorumMetadata) -> Iterator[tuple[int, MetadataImage]]:
    """The metadata image of each node that runs, with the node's number."""
    for id, node in quorum.controllers.items():
        if node.current is not None and node.controller is not None:
            yield id, node.controller.loader.image
    for id, broker in observed.world.nodes.items():
        if broker.current is not None and (known := broker.current.environment.node) is not None:
            yield id, known.loader.image


ALWAYS = (
    the_image_is_the_replay_of_the_log,
    a_fenced_broker_leads_nothing,
    a_fenced_broker_is_in_sync_only_as_the_last,
)
AT_REST = (every_image_is_up_to_date,)
