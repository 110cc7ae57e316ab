"""The codecs: framings that Kafka's clients read, damage, and payloads that claim the world."""

import subprocess
import sys
from pathlib import Path

import cramjam
import pytest

from engine.errors import ApiException, ErrorCode
from engine.storage.batch import Codec
from engine.storage.compression import compress, decompress

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"".join(b"order %d of customer %d; " % (n * 7919, n % 13) for n in range(9000))


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(3_000_000)], ids=len)
def test_round_trip(codec: Codec, data: bytes) -> None:
    payload = compress(codec, data)
    assert decompress(codec, payload) == data
    assert decompress(codec, memoryview(bytearray(payload))) == data
    assert compress(codec, memoryview(data)) == payload


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_levels(codec: Codec) -> None:
    quick, thorough = compress(codec, TEXT, 1), compress(codec, TEXT, 9)
    assert len(thorough) < len(quick) < len(TEXT)
    assert decompress(codec, quick) == decompress(codec, thorough) == TEXT


def test_snappy_is_written_in_the_framing_of_the_java_client() -> None:
    assert compress(Codec.SNAPPY, b"abc") == bytes.fromhex(
        "82 534e41505059 00"  # magic
        "00000001 00000001"  # version, oldest compatible version
        "00000005"  # one block of 5 bytes
        "03 08 616263"  # raw snappy: 3 bytes, all literal
    )
    blocks = compress(Codec.SNAPPY, TEXT)
    first = int.from_bytes(blocks[16:20], "big")
    assert cramjam.snappy.decompress_raw_len(blocks[20 : 20 + first]) == 32 * 1024


def test_snappy_is_read_with_and_without_framing() -> None:
    assert decompress(Codec.SNAPPY, bytes.fromhex("03 08 616263")) == b"abc"
    little_endian = bytes.fromhex("82534e4150505900 01000000 01000000 00000005 0308616263")
    assert decompress(Codec.SNAPPY, little_endian) == b"abc"


def test_lz4_blocks_are_independent() -> None:
    """Kafka's Java client refuses a frame whose blocks refer to earlier ones."""
    frame = compress(Codec.LZ4, TEXT)
    assert frame[:4] == bytes.fromhex("04224d18")
    version, independent = frame[4] >> 6, frame[4] >> 5 & 1
    assert (version, independent) == (1, 1)


def refused(
    codec: Codec,
    payload: bytes,
    limit: int = 1 << 20,
    code: ErrorCode = ErrorCode.unknown_server_error,
) -> str:
    with pytest.raises(ApiException) as raised:
        decompress(codec, payload, limit)
    assert raised.value.code is code
    return str(raised.value)


@pytest.mark.parametrize("codec", CODECS)
def test_truncated_at_every_byte(codec: Codec) -> None:
    payload = compress(codec, TEXT[:500])
    whole_blocks = {16} if codec is Codec.SNAPPY else set()  # a stream of no blocks at all
    for cut in set(range(len(payload))) - whole_blocks:
        assert codec.name.lower() in refused(codec, payload[:cut])


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("garbage", [b"\0", b"\1", b"\xff" * 20], ids=bytes.hex)
def test_nothing_may_follow(codec: Codec, garbage: bytes) -> None:
    refused(codec, compress(codec, TEXT[:500]) + garbage)


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_exact(codec: Codec) -> None:
    payload = compress(codec, TEXT)
    assert decompress(codec, payload, limit=len(TEXT)) == TEXT
    too_large = refused(codec, payload, len(TEXT) - 1, ErrorCode.message_too_large)
    assert f"more than {len(TEXT) - 1} bytes" in too_large


BOMB = """
import resource, sys
from pathlib import Path
from engine.errors import ApiException
from engine.storage.batch import Codec
from engine.storage.compression import decompress

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )

bomb, before = Path(sys.argv[2]).read_bytes(), peak()
try:
    decompress(Codec(int(sys.argv[1])), bomb, limit=16 << 20)
except ApiException:
    print(peak() - before)
"""


@pytest.mark.parametrize("codec", CODECS)
def test_a_gigabyte_of_zeros_takes_no_more_memory_than_the_limit(
    codec: Codec, tmp_path: Path
) -> None:
    zeros = bytes(64 << 20)
    if codec is Codec.SNAPPY:
        block = bytes(cramjam.snappy.compress_raw(zeros))
        header = compress(Codec.SNAPPY, b"")
        bomb = header + (len(block).to_bytes(4, "big") + block) * 16
    else:
        bomb = compress(codec, zeros) * 16  # frames may follow one another
    path = tmp_path / "bomb"
    path.write_bytes(bomb)
    child = subprocess.run(
        [sys.executable, "-c", BOMB, str(int(codec)), str(path)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(child.stdout) < 48 << 20


@pytest.mark.parametrize("claim", [2**20 + 1, 2**30, 2**32 - 1])
def test_a_claim_costs_nothing(claim: int) -> None:
    """Raw snappy opens with its length; ten bytes may say four gigabytes."""
    preamble = bytearray()
    while claim > 0x7F:
        preamble.append(claim & 0x7F | 0x80)
        claim >>= 7
    preamble.append(claim)
    payload = bytes(preamble) + b"\x08abc"
    too_large = refused(Codec.SNAPPY, payload, code=ErrorCode.message_too_large)
    assert "more than 1048576 bytes" in too_large
