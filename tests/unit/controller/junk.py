"""What others may have written into a znode: bytes that are wrong in one of many ways."""

import copy
import json
from random import Random

WHOLE = (
    b"", b"null", b"[]", b"{}", b"0", b'"text"', b"{", b"nonsense", b"\x00", b"\xff\xfe\xfa",
    b'{"version":1}', b'{"version":99}', b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000,
    b"1" + b"0" * 18, b"-1", b" 7", b"2147483647", b"2147483648",
)  # fmt: skip
VALUES = (
    None, True, False, -1, -2, 0, 7, 99, 2**31 - 2, 2**31 - 1, 2**31, 2**63, 10**400, 1.5,
    "", "x", "-1", "7", "1e3", "9" * 30, "\ud800", "a/b", "..", "é", "x" * 300,
    [], [1, 1], [-1], [99], [[1]], ["1"], [2**40], {}, {"0": [1]}, {"0": 1}, {"-1": [1]}, {"x": []},
)  # fmt: skip


def junk(chance: Random, sample: object) -> bytes:
    """`sample`: what stands there, as JSON, if all is well."""
    kind = chance.randrange(10)
    if kind < 2:
        return chance.choice(WHOLE)
    text = json.dumps(sample).encode()
    if kind == 2:
        return text[: chance.randrange(len(text))]
    if kind == 3:
        at = chance.randrange(len(text))
        return text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
    if kind == 4 and chance.random() < 0.05:
        return json.dumps({"more": "x" * 1_000_000, **_fields(sample)}).encode()
    wrong = copy.deepcopy(sample)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        wrong = _mutated(chance, wrong)
    return json.dumps(wrong).encode()


def _fields(sample: object) -> dict[str, object]:
    return sample if isinstance(sample, dict) else {}


def _mutated(chance: Random, value: object) -> object:
    """With one of its parts replaced, missing, or new."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(sorted(value))
        match chance.randrange(6):
            case 0:
                return {key: it for key, it in value.items() if key != name}
            case 1:
                return {**value, chance.choice(("novelty", "", "é", "1")): chance.choice(VALUES)}
        return {**value, name: _mutated(chance, value[name])}
    if isinstance(value, list) and value and chance.random() < 0.7:
        at = chance.randrange(len(value))
        return [*value[:at], _mutated(chance, value[at]), *value[at + chance.randrange(2) :]]
    return copy.deepcopy(chance.choice(VALUES))
