"""When releases came, as the documents tell it; and which versions a broker says that it speaks.

    releases.DATES              by release, from kafka.apache.org and Apache's archive
    releases.reported(address)  {"PRODUCE": (0, 9), ...}: the answer to ApiVersions

The versions of each release are not from here: kafka-python has a table of them.
"""

import socket

from kio.schema.api_versions.v0.request import ApiVersionsRequest

from engine.wire.apis import Api
from engine.wire.codec import decode_response, encode_request
from engine.wire.errors import RequestHeader

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
