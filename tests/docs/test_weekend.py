"""The weekend's path: files that exist, a length that fits, two sentences and one question each.

### 3. Replication
    - [replication/partition.py](../engine/replication/partition.py)
      What it is. What to look for. *A question?*
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

from kio.schema.api_versions.v0.request import ApiVersionsRequest

from engine.storage import records
from engine.storage.records import Record
from engine.wire import codec
from engine.wire.apis import Api
from engine.wire.codec import RequestHeader
from tests.test_tidy import Module, code_lines

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "engine"
PAGE = ROOT / "docs/weekend.md"
MOST_LINES = 6_950  # of code on the whole path: 6,000, and 950 for the sitting without ZooKeeper
FILES = range(40, 56)
SITTINGS = 7
ENTRY = re.compile(r"^- \[([^]]+)]\(\.\./(engine/[^)]+)\)\n((?:  .*\n)+)", re.M)
WORD = re.compile(r"^- `([\w/]+\.py)`: ", re.M)  # of the lists of words from other files
BYTES = re.compile(r"^((?:[0-9a-f]{2} )*[0-9a-f]{2})(?: {3,}\S|$)")
SENTENCE_END = re.compile(r"[.?](?=\s|$)")


class Entry(NamedTuple):
    name: str
    path: Path
    text: str


def entries() -> list[Entry]:
    found = ENTRY.findall(PAGE.read_text(encoding="utf-8"))
    return [Entry(name, ROOT / path, " ".join(text.split())) for name, path, text in found]


def lines(path: Path) -> int:
    return len(code_lines(Module(path.name, path.read_text(encoding="utf-8"))))


def test_the_files_exist_and_each_is_read_once() -> None:
    paths = [entry.path for entry in entries()]
    assert len(paths) in FILES
    assert len(set(paths)) == len(paths)
    assert [path for path in paths if not path.is_file()] == []
    names = {entry.name: entry.path.relative_to(ROOT / "engine").as_posix() for entry in entries()}
    assert all(name == path for name, path in names.items()), names


def test_every_link_to_the_engine_is_an_entry() -> None:
    linked = re.findall(r"\(\.\./(engine/[^)#]+\.py)\)", PAGE.read_text(encoding="utf-8"))
    assert len(linked) == len(entries())


def test_the_path_is_short_enough_for_a_weekend() -> None:
    counts = {entry.name: lines(entry.path) for entry in entries()}
    assert sum(counts.values()) < MOST_LINES, counts


def test_there_are_seven_sittings() -> None:
    headings = re.findall(r"^## \d\. ", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(headings) == SITTINGS


class Sitting(NamedTuple):
    words: set[Path]  # files that it explains in a few words
    files: list[Path]


def sittings() -> list[Sitting]:
    text = PAGE.read_text(encoding="utf-8")
    return [
        Sitting(
            {ENGINE / name for name in WORD.findall(part)},
            [ROOT / path for _, path, _ in ENTRY.findall(part)],
        )
        for part in re.split(r"^## \d\. ", text, flags=re.M)[1:]
    ]


def imported(path: Path) -> set[Path]:
    """The files of the engine that a file imports from; a package stands for its __init__.py."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("engine."):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {file_of(name) or file_of(str(node.module)) for name in names}
    return {file for file in found if file is not None}


def file_of(module: str) -> Path | None:
    place = ROOT / module.replace(".", "/")
    return next(filter(Path.is_file, (place.with_suffix(".py"), place / "__init__.py")), None)


def surprises(sittings: list[Sitting]) -> list[str]:
    """What a reader meets in a file that neither was read before nor is explained in words."""
    known, found = set[Path](), []
    for sitting in sittings:
        known |= sitting.words
        for file in sitting.files:
            found += [f"{file.name}: {each.name}" for each in sorted(imported(file) - known)]
            known.add(file)
    return found


def test_a_file_uses_only_what_was_read_or_explained_before() -> None:
    assert surprises(sittings()) == []


def test_every_word_is_needed() -> None:
    for number, sitting in enumerate(sittings()):
        used = set().union(*map(imported, sitting.files))
        assert sitting.words <= used, (number + 1, sitting.words - used)
        assert all(map(Path.is_file, sitting.words))


def test_an_order_that_begins_at_the_end_is_noticed() -> None:
    assert "log.py: epochs.py" in surprises(
        [sitting._replace(files=sitting.files[::-1]) for sitting in sittings()]
    )


def test_each_file_has_two_sentences_and_a_question() -> None:
    for entry in entries():
        text, _, question = entry.text.rpartition(" *")
        assert question.endswith("?*"), entry.name
        assert len(SENTENCE_END.findall(text)) == 2, (entry.name, text)


def block(number: int) -> bytes:
    """What the page's n-th block shows, without the words beside it."""
    lines = PAGE.read_text(encoding="utf-8").split("```")[2 * number - 1].strip().splitlines()
    found = [BYTES.match(line) for line in lines]
    return bytes.fromhex(" ".join(line[1] for line in found if line))


def test_the_bytes_on_the_page_are_those_that_the_engine_writes() -> None:
    header = RequestHeader(Api.API_VERSIONS, 0, 7, "lab")
    assert block(1) == codec.encode_request(header, ApiVersionsRequest())
    tea = Record(offset=5, timestamp=1_700_000_000_000, key=b"ana", value=b"tea")
    stamp = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 3}
    assert block(2) == records.encode([tea], base_offset=5, leader_epoch=2, **stamp)
