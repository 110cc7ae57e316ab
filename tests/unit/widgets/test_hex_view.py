"""A learner opens the files of a log, turns the pages, and asks what each byte is."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import ApiException
from engine.storage import records
from engine.storage.batch import Codec, Header, scan
from engine.storage.records import Record
from tests.unit.storage.disk import NOW, Disk, batch, temporary_disk
from widgets.log import directory, hex_page
from widgets.log.batches import log_fields
from widgets.log.hex_page import SIZE
from widgets.log.hex_view import EVERY, HexView
from widgets.scene import SceneShape


@pytest.fixture
def disk() -> Iterator[Disk]:
    with temporary_disk(
        segment_bytes=4000, index_interval_bytes=200, segment_index_bytes=960
    ) as disk:
        log, chance = disk.open(), random.Random(5)
        for number in range(80):
            codec = chance.choice([Codec.NONE, Codec.NONE, Codec.LZ4])
            log.append(batch(chance.randint(1, 4), 40, at=NOW + number, codec=codec), 0, NOW)
        yield disk


@pytest.fixture
def path(disk: Disk) -> Path:
    return directory.look(disk.directory).segments[1].path


@pytest.fixture
def view(path: Path) -> Iterator[HexView]:
    view = HexView(path)
    yield view
    view.close()


def words(view: HexView) -> str:
    assert view.picture is not None
    return " | ".join(str(it.content) for it in view.picture.all() if it.kind == "text")


def bands(view: HexView) -> list[SceneShape]:
    assert view.picture is not None
    return [shape for shape in view.picture.shapes if shape.key.startswith("f")]


def shown(view: HexView) -> tuple[int, int]:
    assert view.page is not None
    return view.page.position, view.page.end


def control(view: HexView, act: str) -> dict[str, object]:
    return next(it for it in view.controls if it["act"] == act)


# -- a page ----------------------------------------------------------------------------------


def test_the_fields_of_every_page_tile_it(disk: Disk) -> None:
    for path in sorted(disk.directory.iterdir()):
        for position in range(0, path.stat().st_size, 16 * 5):
            page = hex_page.read(path, position)
            assert page.position == position
            assert page.data == path.read_bytes()[position : position + SIZE]
            assert page.fields[0].start <= position < page.fields[0].end
            at = page.fields[0].start
            for field in page.fields:
                assert field.start == at
                at = field.end
            assert at >= page.end > page.fields[-1].start


def test_a_page_in_the_middle_is_as_right_as_the_first(path: Path) -> None:
    whole = log_fields(path.read_bytes())
    by_start = {field.start: field for field in whole}
    for position in range(0, path.stat().st_size, 160):
        for field in hex_page.read(path, position).fields:
            assert field == by_start[field.start]


def test_each_byte_has_its_batch(path: Path) -> None:
    data = path.read_bytes()
    for position, header in scan(data):
        whole = position, data[position : position + header.size]
        assert hex_page.batch_with(path, position) == whole
        assert hex_page.batch_with(path, position + header.size - 1) == whole
    assert hex_page.batch_with(path, len(data)) is None


def test_a_foreign_index_leads_nobody_astray(path: Path) -> None:
    index = path.with_suffix(".index")
    index.write_bytes(b"\0\0\0\1\0\0\0\7" + b"\0\0\0\2\0\0\1\1")
    start = hex_page.read(path, 2000).fields[0]
    assert start in list(log_fields(path.read_bytes()))


# -- going about -----------------------------------------------------------------------------


def test_pages_are_turned(view: HexView, path: Path) -> None:
    size = path.stat().st_size
    assert shown(view) == (0, SIZE)
    assert control(view, "previous")["off"] and "off" not in control(view, "following")
    view.do("following")
    assert shown(view) == (SIZE, 2 * SIZE)
    view.do("byte", 1003)
    assert shown(view)[0] == 992
    view.do("previous")
    assert shown(view)[0] == 992 - SIZE
    view.do("last")
    assert shown(view)[1] == size
    assert control(view, "last")["off"]
    view.do("following")
    assert shown(view)[1] == size
    view.do("first")
    assert shown(view)[0] == 0
    view.do("previous")
    assert shown(view)[0] == 0
    assert view.trouble == ""


def test_an_offset_is_gone_to(view: HexView, disk: Disk) -> None:
    look = directory.look(disk.directory)
    plain = 0
    for offset in range(look.start_offset, look.end_offset, 7):
        view.do("offset", offset)
        assert view.trouble == ""
        assert view.page is not None and view.chosen is not None
        field = view.page.field_at(view.chosen)
        assert field is not None
        if field.part == f"offset {offset:,}":
            plain += 1
        else:
            assert field.name == "base offset"
            assert int(field.value) <= offset
    assert plain > 5
    view.do("offset", 10**9)
    assert "out of range" in view.trouble


def test_other_files_are_beside_it(view: HexView, path: Path) -> None:
    options = control(view, "file")["options"]
    assert isinstance(options, list)
    names = [name for name, _ in options]
    assert path.with_suffix(".index").name in names
    view.do("file", path.with_suffix(".index").name)
    assert "relative offset" in words(view)
    view.do("file", path.with_suffix(".timeindex").name)
    assert "timestamp" in words(view)
    view.do("file", "../../etc/passwd")
    assert "passwd is gone" in view.trouble


def test_it_opens_a_partition_at_an_offset(disk: Disk) -> None:
    view = HexView(disk.directory, offset=12)
    assert view.page is not None and view.chosen is not None
    field = view.page.field_at(view.chosen)
    assert field is not None and field.part == "offset 12"
    view.close()
    with pytest.raises(ApiException, match="there is no segment"):
        HexView(disk.directory.parent)


def test_nothing_is_open_at_first() -> None:
    view = HexView()
    assert "No file is open" in words(view)
    for act in ("first", "previous", "following", "last"):
        view.do(act)
        assert view.trouble == "no file is open: open one first"
    assert not view.poll()
    view.close()


# -- what a byte is --------------------------------------------------------------------------


def test_each_band_tells_what_it_is(view: HexView) -> None:
    assert view.page is not None
    found = bands(view)
    assert len(found) == len(view.page.fields)
    for shape, field in zip(found, view.page.fields, strict=True):
        assert shape.label == f"{field.name}: {field.value}. {field.about}"
        assert shape.does
        view.do(shape.acts[0].name, shape.acts[0].on)
        assert field.about in words(view)
        assert view.said == f"{field.name}: {field.value}"
        assert "chosen" in next(it for it in bands(view) if it.key == shape.key).look
    view.do("choose", found[-1].acts[0].on)
    assert view.chosen is None


def test_names_stand_at_the_edge(view: HexView) -> None:
    assert view.picture is not None
    names = [it for it in view.picture.shapes if it.key.startswith("n")]
    assert [it.content for it in names[:3]] == ["base offset", "length", "leader epoch"]
    assert names[0].kin == bands(view)[0].kin
    for shape in view.picture.shapes:
        if shape.kind == "text":
            assert 0 <= shape.where[0] < view.width and 0 < shape.where[1] < view.picture.height


def test_the_crc_is_reported_right_and_wrong(path: Path) -> None:
    view = HexView(path)
    assert view.picture is not None
    assert "right ✓" in words(view)
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    view.poll()
    assert "WRONG ✗" in words(view)
    texts = [it for it in view.picture.all() if it.kind == "text"]
    assert "bad" in next(it.look for it in texts if "WRONG" in str(it.content))
    view.close()


def test_a_page_of_the_smallest_records_stays_small(disk: Disk) -> None:
    path = disk.directory / f"{7:020d}.log"
    path.write_bytes(records.encode([Record(it, NOW, None, None) for it in range(500)]))
    view = HexView(path)
    view.do("byte", 1000)
    assert len(bands(view)) > 150
    assert len(json.dumps(view.get_state(), default=str, ensure_ascii=False)) < 77_000
    view.do("choose", bands(view)[-1].acts[0].on)
    assert "Varint" in words(view)
    view.close()


# -- a living file ---------------------------------------------------------------------------


def test_it_follows_a_file_that_grows_and_goes(disk: Disk) -> None:
    now = 50.0
    newest = directory.look(disk.directory).segments[-1].path
    view = HexView(newest)
    view.clock = lambda: now
    assert view.poll()
    assert view.page is not None
    size = view.page.size
    assert disk.log is not None
    disk.log.append(batch(1), 0, NOW)
    view.poll()
    assert view.page.size == size
    now += EVERY
    view.poll()
    assert view.page.size > size
    assert f"{view.page.size:,} bytes" in view.about
    newest.unlink()
    now += EVERY
    assert not view.poll()
    assert view.trouble.startswith("The file is gone")
    view.close()


def test_it_never_writes(view: HexView, path: Path) -> None:
    before, header = path.read_bytes(), Header.parse(path.read_bytes())
    view.do("choose", 70)
    view.do("edit", f"{before[70] ^ 1:02x}")
    changed = before[:70] + bytes([before[70] ^ 1]) + before[71:]
    wrong = log_fields(changed)
    crc = next(field for field in wrong if field.name == "crc").value.split()[-1]
    assert f"the bytes would give CRC {crc}, not {header.crc:#010x}" in view.trouble
    assert view.trouble.startswith("Nothing was written")
    view.do("edit", f"{before[70]:02x}")
    assert "already" in view.trouble
    view.do("choose", 3)
    view.do("edit", "77")
    assert "the CRC would not notice" in view.trouble
    view.do("edit", "hello")
    assert "'hello' is no byte" in view.trouble
    view.do("file", path.with_suffix(".index").name)
    view.do("edit", "ff")
    assert "make it anew" in view.trouble
    assert path.read_bytes() == before
