"""The bytes in a record's journey are those that the engine writes."""

import re
from pathlib import Path

from engine.client.partitioner import partition_of
from engine.storage.batch import HEADER_SIZE, placed
from engine.storage.records import Builder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "journey.md"
KEY, VALUE, TIME = b"table 4", b"two teas", 1_700_000_000_000


def blocks() -> list[bytes]:
    """Every indented block of the page that is made of bytes."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^(?:    (?:[0-9a-f]{2} ?)+\n)+", text, re.M)
    return [bytes.fromhex(block) for block in found]


def test_record_header_and_place_are_as_they_are_written() -> None:
    builder = Builder()
    builder.append(KEY, VALUE, TIME)
    batch = builder.build()
    place, rest = placed(batch, 41, 3)
    assert blocks() == [batch[HEADER_SIZE:], batch[:HEADER_SIZE], place]
    assert place + bytes(rest) == place + batch[len(place) :]


def test_the_key_goes_where_the_page_says() -> None:
    number = partition_of(KEY, 3)
    words = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"This one goes to partition {number}." in words
