"""What one stock client writes, every other reads: all of it, in every codec."""

import pytest

from engine.storage.batch import Codec, scan
from tests.interop.clients import CLIENTS, CODECS, RECORDS


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("writer", CLIENTS)
def test_what_one_writes_all_read(cluster, client, topic, writer, codec):
    wanted = {Codec[codec.upper()]} - {Codec.NONE}
    CLIENTS[writer].write(cluster.bootstrap, topic, RECORDS, codec)
    stored = client.fetch(topic, 0).records
    # A batch that compression would only make larger is sent as it is.
    assert {header.codec for _, header in scan(stored)} - {Codec.NONE} == wanted
    for reader, other in CLIENTS.items():
        assert other.read(cluster.bootstrap, topic, len(RECORDS)) == RECORDS, reader
