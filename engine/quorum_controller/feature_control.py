"""Levels of features: UpdateFeatures (FeatureControlManager).

There is one feature here, `metadata.version`, from 1 (3.0-IV1) to 7 (3.3-IV3). A level is finalized
by a record, and every node goes by it from there on.
"""

from collections.abc import Mapping
from enum import IntEnum

from engine.errors import ApiException, ErrorCode
from engine.metadata.image import MetadataImage
from engine.metadata.records.brokers import FeatureLevelRecord
from engine.quorum_controller.cluster_control import METADATA_VERSION

SUPPORTED: Mapping[str, tuple[int, int]] = {METADATA_VERSION: (1, 7)}
FIRST_WITH_FEATURES = 4  # 3.3-IV0: the first level that has the record of a level


class UpgradeType(IntEnum):
    """Whether a level may only rise, or also fall: a field of UpdateFeatures."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def update_feature(
    image: MetadataImage, node: int, name: str, level: int, upgrade: int
) -> FeatureLevelRecord:
    """The record of a new level, or an ApiException."""
    if fault := _fault(image, node, name, level, upgrade):
        raise ApiException(
            ErrorCode.invalid_update_version,
            f"Invalid update version {level} for feature {name}. {fault}",
        )
    return FeatureLevelRecord(name=name, feature_level=level)


def _fault(image: MetadataImage, node: int, name: str, level: int, upgrade: int) -> str:
    least, most = SUPPORTED.get(name, (0, 0))
    now = image.features.get(name, 0)
    if upgrade not in (1, 2, 3):
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    if not least <= level <= most:
        if most == 0:
            return f"Local controller {node} does not support this feature."
        return f"Local controller {node} only supports versions {least}-{most}"
    for broker, registered in sorted(image.brokers.items()):
        its = next((each for each in registered.features if each.name == name), None)
        if its is None:
            return f"Broker {broker} does not support this feature."
        least, most = its.min_supported_version, its.max_supported_version
        if not least <= level <= most:
            supports = f"It supports {least} to {most}."
            return f"Broker {broker} does not support the given version. {supports}"
    if level < now and upgrade == UpgradeType.UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    if level > now and upgrade != UpgradeType.UPGRADE:
        return "Can't downgrade to a newer version."
    if name == METADATA_VERSION and level < FIRST_WITH_FEATURES:
        return "Unable to set a metadata.version less than 3.3-IV0"
    if level < now and upgrade == UpgradeType.UNSAFE_DOWNGRADE:
        return "Unsafe metadata downgrade is not supported in this version."
    if level < now:
        return (
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
        )
    return ""
