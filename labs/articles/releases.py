"""When releases came, as the documents tell it; and which versions a broker says that it speaks.

    releases.DATES              by release, from kafka.apache.org and Apache's archive
    releases.reported(address)  {"PRODUCE": (0, 9), ...}: the answer to ApiVersions
    releases.timeline(...)      the newest versions of each release, at its date

The versions of each release are not from here: kafka-python has a table of them.
"""

import socket
from collections.abc import Callable
from datetime import date

from kio.schema.api_versions.v0.request import ApiVersionsRequest

from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request
from engine.wire.errors import RequestHeader
from widgets.scene import ABOUT, UP_TO, Scene, SceneShape, circle, line, path, text

Release = tuple[int, ...]
Newest = tuple[int, int]  # of Produce, of Fetch

DATES = {  # the day, or the month, of the first release of each line
    (0, 8, 0): "2013-12",
    (0, 9): "2015-11",
    (0, 10, 0): "2016-05",
    (0, 11): "2017-06-28",
    (1, 0): "2017-11-01",
    (2, 0): "2018-07-30",
    (2, 8): "2021-04-19",
    (3, 0): "2021-09-21",
    (4, 0): "2025-03-18",
}
PUBLISHED = 2011  # the year in which LinkedIn published the source, and Apache took it up


def reported(address: str) -> dict[str, tuple[int, int]]:
    """The oldest and the newest version of each API, by the broker at HOST:PORT."""
    header = RequestHeader(int(Api.API_VERSIONS), 0, 1, "reader")
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(encode_request(header, ApiVersionsRequest()))
        with connection.makefile("rb") as answer:
            frame = answer.read(int.from_bytes(answer.read(4), "big"))
    known = {int(api): api.name for api in Api}
    rows = decode_response(header, frame).api_keys
    return {
        known[it.api_key]: (it.min_version, it.max_version) for it in rows if it.api_key in known
    }


# -- the picture -----------------------------------------------------------------------------------

WIDE, LEFT, RIGHT, FLOOR, STEP = 960, 40, 150, 280, 13  # px; STEP: for each version
FIRST, LAST = PUBLISHED, 2026  # years
APIS = {
    "Produce": ("lead", "leader"),
    "Fetch": ("lead sync", "follower"),
}  # looks: a line, its dots


def timeline(newest: Callable[[Release], Newest], ours: Newest) -> Scene:
    """`ours`: the newest versions of the broker that was asked, as a line from side to side."""
    shapes = [line("years", LEFT, FLOOR, WIDE - RIGHT, FLOOR, look="link")]
    for year in range(FIRST, LAST + 1, 3):
        shapes.append(
            text(f"year {year}", _x(f"{year}-01"), FLOOR + 50, str(year), ABOUT, look="tiny")
        )
    shapes.append(circle("published", _x(f"{PUBLISHED}-01"), FLOOR, 4, look="alive"))
    shapes.append(text("source", LEFT, FLOOR - 10, "the source is published", look="tiny"))
    for number, (name, (drawn, dots)) in enumerate(APIS.items()):
        places = [(_x(day), _y(newest(it)[number]), it) for it, day in DATES.items()]
        shapes += _stairs(name, drawn, [(x, y) for x, y, _ in places])
        for x, y, it in places:
            words, up = str(newest(it)[number]), -8 if number else 16
            shapes.append(circle(f"{name} {it}", x, y, 3.5, look=dots))
            shapes.append(text(f"{name} number {it}", x, y + up, words, ABOUT, look="over"))
        x, y = WIDE - RIGHT, _y(ours[number])
        shapes.append(line(f"{name} here", LEFT, y, x, y, look="watermark"))
        shapes.append(text(f"{name} words", x + 8, y + 4, f"{name} {ours[number]}, this broker"))
    for place, (it, day) in enumerate(DATES.items()):
        look = "bold" if it == (1, 0) else "tiny"
        name = ".".join(map(str, it if it[0] or len(it) < 3 else it[:2]))
        shapes.append(
            text(f"release {it}", _x(day), FLOOR + 16 + place % 2 * 14, name, ABOUT, look=look)
        )
    title = f"Newest versions of Produce and Fetch by release; this broker speaks up to {ours}"
    return Scene(WIDE, FLOOR + 60, shapes, title=title)


def _stairs(name: str, look: str, places: list[tuple[float, float]]) -> list[SceneShape]:
    (x, y), *others = places
    drawn = f"M{x:.1f} {y}" + "".join(f"H{x:.1f}V{y}" for x, y in others)
    x, y = places[-1]
    end = text(f"{name} of all", x - 10, y - 6, name, UP_TO, look="bold")
    return [path(f"{name} stairs", drawn, look=look), end]


def _x(day: str) -> float:
    when = date.fromisoformat(f"{day}-01"[:10])
    share = (when.year + when.timetuple().tm_yday / 366 - FIRST) / (LAST - FIRST)
    return LEFT + share * (WIDE - RIGHT - LEFT)


def _y(version: int) -> int:
    return FLOOR - 26 - version * STEP
