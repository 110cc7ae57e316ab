"""Show and change the features of a cluster without ZooKeeper, as kafka-features does.

    features --bootstrap-server 127.0.0.1:9092 describe
    features --bootstrap-server 127.0.0.1:9092 upgrade --metadata 3.3-IV3
    features --bootstrap-server 127.0.0.1:9092 downgrade --feature metadata.version=6 --dry-run

The level of metadata.version says which records and requests a cluster may use. It is raised once
all nodes run a release that knows it.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable
from datetime import timedelta
from types import SimpleNamespace

from engine.cli.kraft.nodes import Bootstrap, add_bootstrap, ask, bootstrap
from engine.cli.main import FAILED, UsageError
from engine.cli.options import SHORT_MAX, bounded
from engine.errors import ApiException, ErrorCode
from engine.metadata.image_tree import LEVELS
from engine.quorum_controller.cluster_control import METADATA_VERSION
from engine.wire.apis import Api
from engine.wire.kraft_apis import KRaftApi

CLIENT = "features"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
TIMEOUT = timedelta(seconds=30)


def add_arguments(parser: ArgumentParser) -> None:
    add_bootstrap(parser)
    actions = parser.add_subparsers(dest="action", required=True, metavar="describe|upgrade|...")
    actions.add_parser("describe", help="show the levels", allow_abbrev=False)
    for action in ("upgrade", "downgrade"):
        each = actions.add_parser(action, help=f"{action} levels", allow_abbrev=False)
        each.add_argument("--metadata", metavar="LEVEL", help="of metadata.version: 3.3-IV3")
        each.add_argument("--feature", metavar="NAME=LEVEL", action="append", default=[])
        each.add_argument("--dry-run", action="store_true", help="only say what would be")
        if action == "downgrade":
            help = "also if metadata may be lost"
            each.add_argument("--unsafe", action="store_true", help=help)


def run(options: Namespace) -> int:
    nodes = bootstrap(options)
    if options.action == "describe":
        _describe(nodes)
        return 0
    return _update(nodes, options)


def _describe(nodes: Bootstrap) -> None:
    software = {"client_software_name": CLIENT, "client_software_version": "1"}
    answer = ask(nodes, Api.API_VERSIONS, SimpleNamespace(**software), CLIENT)
    finalized = {it.name: it.max_version_level for it in answer.finalized_features}
    epoch = answer.finalized_features_epoch
    for feature in sorted(answer.supported_features, key=lambda it: it.name):
        name, least, most = feature.name, feature.min_version, feature.max_version
        print(
            f"Feature: {name}\tSupportedMinVersion: {level_text(name, least)}\t"
            f"SupportedMaxVersion: {level_text(name, most)}\t"
            f"FinalizedVersionLevel: {level_text(name, finalized.get(name, 0))}\t"
            f"Epoch: {'-' if epoch < 0 else epoch}"
        )


def level_text(feature: str, level: int) -> str:
    if feature != METADATA_VERSION:
        return str(level)
    return LEVELS[level - 1] if 0 < level <= len(LEVELS) else f"UNKNOWN {level}"


def level_named(option: str, name: str, least: int = 1) -> int:
    """The level that a name means: 3.3-IV0 is 4, and 3.3 is the last of its levels, 7."""
    known = LEVELS[least - 1 :]
    found = [level for level in known if level == name or level.startswith(f"{name}-")]
    if not found:
        raise UsageError(f"{option} {name}: the levels that can be named are {', '.join(known)}")
    return LEVELS.index(found[-1]) + 1


# -- changes ---------------------------------------------------------------------------------


def _update(nodes: Bootstrap, options: Namespace) -> int:
    wanted = _wanted(options.metadata, options.feature)
    if not wanted:
        raise UsageError(f"You must specify at least one feature to {options.action}")
    kind = UPGRADE
    if options.action == "downgrade":
        kind = UNSAFE_DOWNGRADE if options.unsafe else SAFE_DOWNGRADE
    updates = [
        SimpleNamespace(feature=name, max_version_level=level, upgrade_type=kind)
        for name, level in wanted.items()
    ]
    request = SimpleNamespace(
        timeout=TIMEOUT, feature_updates=updates, validate_only=options.dry_run
    )
    answer = ask(nodes, KRaftApi.UPDATE_FEATURES, request, CLIENT)
    if answer.error_code is not ErrorCode.none:
        raise ApiException(answer.error_code, answer.error_message or answer.error_code.name)
    failed = 0
    for result in sorted(answer.results, key=lambda it: it.feature):
        name, level = result.feature, wanted[result.feature]
        if result.error_code is ErrorCode.none:
            verb = "can be" if options.dry_run else "was"
            print(f"{name} {verb} {options.action}d to {level}.")
        else:
            failed += 1
            verb = "Can not" if options.dry_run else "Could not"
            print(f"{verb} {options.action} {name} to {level}. {result.error_message}")
    if failed:
        print(f"{failed} out of {len(wanted)} operation(s) failed.")
    return FAILED if failed else 0


def _wanted(metadata: str | None, features: Iterable[str]) -> dict[str, int]:
    found = dict[str, int]()
    if metadata is not None:
        found[METADATA_VERSION] = level_named("--metadata", metadata)
    for text in features:
        name, _, level = text.partition("=")
        if not level.strip().isdecimal():
            raise UsageError(f"--feature {text}: a feature is NAME=LEVEL")
        if name.strip() in found:
            raise UsageError(f"--feature {text}: it was given before")
        try:
            found[name.strip()] = bounded(0, SHORT_MAX)(level.strip())
        except ArgumentTypeError as error:
            raise UsageError(f"--feature {text}: LEVEL {error}") from error
    return found
