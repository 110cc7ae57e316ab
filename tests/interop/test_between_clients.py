"""What one stock client writes, every other reads: all of it, in every codec."""

import pytest

from engine.storage.batch import Codec, scan
from tests.interop.clients import CLIENTS, CODECS, RECORDS


def used(codec: str) -> set[Codec]:
    return set() if codec == "none" else {Codec[codec.upper()]}


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writer", CLIENTS)
def test_what_one_writes_all_read(cluster, client, topic, writer, codec):
    CLIENTS[writer].write(cluster.bootstrap, topic, RECORDS, codec)
    stored = {header.codec for _, header in scan(client.fetch(topic, 0).records)}
    assert stored - {Codec.NONE} == used(codec)  # a batch that would grow is sent plain
    for reader, other in CLIENTS.items():
        assert other.read(cluster.bootstrap, topic, len(RECORDS)) == RECORDS, reader
