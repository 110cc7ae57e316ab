"""Look into the metadata of a cluster without ZooKeeper, as kafka-metadata-shell does.

    metadata-shell --snapshot 00000000000000000041-0000000003.checkpoint ls /image
    metadata-shell --directory DIR/controller-1 cat /image/topics/byName/orders/0
    metadata-shell --directory DIR/controller-1            reads commands, line by line

--directory takes the log directory of a controller or a broker, or its __cluster_metadata-0: the
newest snapshot, and all records of the log after it, also those that are not committed yet. The
node may run: nothing is locked or changed.

    ls [NODE ...]     the names below a node      cat NODE ...      the text of a leaf
    tree NODE ...     a node with all below it    find [NODE ...]   the paths of all below a node
    cd [NODE]         go there                    pwd               where one is
    help, exit
"""

import shlex
import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from engine.cli.main import UsageError
from engine.errors import ApiException
from engine.metadata.image import MetadataImage
from engine.metadata.image_tree import ImageTree, image_tree
from engine.metadata.records.framing import decode_record
from engine.raft.snapshot_records import decode_snapshot
from engine.storage.batch import scan
from engine.storage.partition_name import METADATA
from engine.storage.records import stream

PROMPT = ">> "
INDENT = "  "
SNAPSHOTS, LOGS = "*.checkpoint", "*.log"


def add_arguments(parser: ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("-s", "--snapshot", metavar="FILE", type=Path, help="a snapshot")
    source.add_argument("-d", "--directory", metavar="DIR", type=Path, help="a log directory")
    parser.add_argument("command", nargs=REMAINDER, help="a command; without one they are read")


def run(options: Namespace) -> int:
    image, last_ms = loaded(options.snapshot, options.directory)
    shell = MetadataShell({"image": image_tree(image, last_ms)})
    if options.command:
        return 0 if shell.do(options.command) else 1
    if sys.stdin.isatty():
        print("Loading complete. `help` lists the commands.")
    while not shell.is_over:
        try:
            shell.do(shlex.split(input(PROMPT if sys.stdin.isatty() else "")))
        except ValueError as error:  # a quotation mark without its end
            print(error)
        except EOFError:
            break
    return 0


# -- what is there ---------------------------------------------------------------------------


def loaded(snapshot: Path | None, directory: Path | None) -> tuple[MetadataImage, int]:
    """The image, and the time of its last record."""
    image, last_ms = MetadataImage(), 0
    if directory is not None:
        if (directory / METADATA).is_dir():
            directory = directory / METADATA
        snapshot = max(directory.glob(SNAPSHOTS), default=None)
        if snapshot is None and not any(directory.glob(LOGS)):
            raise UsageError(f"{directory} has neither a snapshot nor a metadata log")
    if snapshot is not None:
        last_ms = _read_snapshot(image, snapshot)
    if directory is not None:
        last_ms = max(last_ms, _read_log(image, directory))
    return image, last_ms


def _read_snapshot(image: MetadataImage, path: Path) -> int:
    content = decode_snapshot(path.read_bytes(), path)
    for record in content.records:
        image.replay(decode_record(record.value, record.offset).record)
    offset, _, epoch = path.stem.partition("-")
    if offset.isdecimal() and epoch.isdecimal():  # bootstrap.checkpoint has another name
        image.offset, image.epoch = int(offset) - 1, int(epoch)
    return content.last_contained_ms


def _read_log(image: MetadataImage, directory: Path) -> int:
    last_ms = 0
    for path in sorted(directory.glob(LOGS)):
        data = path.read_bytes()
        for place, header in scan(data):
            if header.next_offset - 1 <= image.offset:
                continue
            if not header.is_control:
                for record in stream(data[place : place + header.size]):
                    image.replay(decode_record(record.value, record.offset).record)
            image.offset, image.epoch = header.next_offset - 1, header.leader_epoch
            last_ms = header.max_timestamp
    return last_ms


# -- commands --------------------------------------------------------------------------------


class MetadataShell:
    def __init__(self, root: Mapping[str, ImageTree]) -> None:
        self.is_over = False
        self._root: ImageTree = root
        self._place: tuple[str, ...] = ()

    def do(self, words: list[str]) -> bool:
        """False: the command could not be carried out, and the reason is printed."""
        if not words:
            return True
        name, *paths = words
        command = COMMANDS.get(name)
        if command is None:
            print(f"{name}: there is no such command; help lists them")
            return False
        try:
            command(self, paths)
        except ApiException as error:
            print(f"{name}: {error.message}")
            return False
        except LookupError as error:
            print(f"{name}: {error.args[0]}")
            return False
        return True

    def ls(self, paths: list[str]) -> None:
        found = [(path, self._node(path)) for path in paths or [""]]
        for path, node in found:
            if len(found) > 1 and not isinstance(node, str):
                print(f"{path}:")
            print(path if isinstance(node, str) else "\n".join(node))

    def cat(self, paths: list[str]) -> None:
        for path in _given(paths):
            node = self._node(path)
            if not isinstance(node, str):
                raise LookupError(f"{path} is no leaf: ls shows what is below it")
            print(node)

    def tree(self, paths: list[str]) -> None:
        for path in _given(paths):
            node = self._node(path)
            print(node if isinstance(node, str) else "\n".join(_drawn(node)))

    def find(self, paths: list[str]) -> None:
        for path in paths or ["."]:
            print("\n".join(_found(path.rstrip("/") or "/", self._node(path))))

    def cd(self, paths: list[str]) -> None:
        path, *others = paths or ["/"]
        if others:
            raise LookupError("go to one node at a time")
        if isinstance(self._node(path), str):
            raise LookupError(f"{path} is a leaf: cat shows it")
        self._place = self._names(path)

    def pwd(self, paths: list[str]) -> None:
        print("/" + "/".join(self._place))

    def help(self, paths: list[str]) -> None:
        assert __doc__ is not None
        print(__doc__.partition("\n    ls ")[1] + __doc__.partition("\n    ls ")[2].rstrip())

    def exit(self, paths: list[str]) -> None:
        self.is_over = True

    def _names(self, path: str) -> tuple[str, ...]:
        names = [] if path.startswith("/") else [*self._place]
        for name in path.split("/"):
            if name == "..":
                names = names[:-1]
            elif name not in ("", "."):
                names.append(name)
        return tuple(names)

    def _node(self, path: str) -> ImageTree:
        node = self._root
        for name in self._names(path):
            if isinstance(node, str) or name not in node:
                raise LookupError(f"{path}: no such node")
            node = node[name]
        return node


COMMANDS: Mapping[str, Callable[[MetadataShell, list[str]], None]] = {
    each.__name__: each
    for each in (
        *(MetadataShell.ls, MetadataShell.cat, MetadataShell.tree, MetadataShell.find),
        *(MetadataShell.cd, MetadataShell.pwd, MetadataShell.help, MetadataShell.exit),
    )
}


def _given(paths: list[str]) -> list[str]:
    if not paths:
        raise LookupError("name a node")
    return paths


def _drawn(node: Mapping[str, ImageTree], depth: int = 0) -> Iterator[str]:
    for name, below in node.items():
        yield f"{INDENT * depth}{name}:"
        if isinstance(below, str):
            yield f"{INDENT * (depth + 1)}{below}"
        else:
            yield from _drawn(below, depth + 1)


def _found(path: str, node: ImageTree) -> Iterator[str]:
    yield path
    if not isinstance(node, str):
        for name, below in node.items():
            yield from _found(f"{path.rstrip('/')}/{name}", below)
