"""Any message: each field has something that it can hold."""

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from engine.errors import ErrorCode
from engine.wire import schema

NUMBERS = {"b": 8, "h": 16, "i": 32, "q": 64}


def value(random: Random, field: schema.Field, size: int):
    """Something that a field can hold: `size` elements where there can be any number."""
    nothing = field.nullable and random.random() < 0.2
    if field.is_array:
        items = [item(random, field.type, size) for _ in range(size)]
        return None if nothing else tuple(items)
    if nothing:
        return None
    return item(random, field.type, size)


def item(random: Random, kind, size: int):
    if not isinstance(kind, str):
        return message(random, kind, size)
    match kind:
        case "string":
            return "".join(random.choice("aZ0-_.é€\0") for _ in range(size * 3))
        case "bytes" | "records":
            return random.randbytes(size * 3)
        case "bool":
            return random.random() < 0.5
        case "float64":
            return random.uniform(-1e9, 1e9)
        case "error_code":
            return random.choice(list(ErrorCode))
        case "uuid":
            return UUID(int=random.getrandbits(128) | 1)
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=random.randrange(-(2**31), 2**31))
        case "datetime_i64":
            since_1970 = timedelta(milliseconds=random.randrange(2**41))
            return datetime(1970, 1, 1, tzinfo=UTC) + since_1970
        case "uint16" | "uint32":
            return random.randrange(2**16 if kind == "uint16" else 2**32)
        case _:
            bits = NUMBERS[schema.FIXED[kind].code]
            return random.choice([0, -1, random.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))])


def message(random: Random, kind: type, size: int):
    return kind(**{field.name: value(random, field, size) for field in schema.fields(kind)})
