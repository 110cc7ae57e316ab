"""Configuration keys: each has a name, a type, a range, a default and a description.

A configuration is a frozen dataclass whose fields *are* the definition:

    segment_bytes: int = key(1 << 30, at_least(14))
    "A segment is closed before a batch would make it larger than this."

The string below it is its description, which clients get with DescribeConfigs. Its Kafka name is
the field's, with dots: `segment.bytes`. Its type is the annotation's: `int` is Kafka's INT, and
`Long` its LONG. Values come in as text, from a command line, from a client or from ZooKeeper, and
are parsed here, with Kafka's types, ranges and error texts:

    Invalid value 5 for configuration segment.bytes: Value must be at least 14

There are two ways to parse:

    parse     for a command line, a client  an unknown key or a bad value is an error
    lenient   for ZooKeeper                 an unknown key is ignored, and a key with a bad value
                                            keeps its default; the reasons are returned by name

Invariant: a `Config` that exists is valid, however it was made.
"""

import ast
import inspect
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from enum import IntEnum
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args

from engine.errors import ApiException, invalid_config, invalid_request

Check = Callable[[str, Any], None]  # (name, value): raises what `invalid` returns
Class = type  # which `Key.type` hides
T = TypeVar("T")


class Type(IntEnum):
    """The types that a value can have, by their number in a DescribeConfigs response."""

    UNKNOWN = 0  # of a key that the broker does not know; its value is not described, either
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9  # its value is never described


class Password:
    """A secret: its text is never the value."""

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "[hidden]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


Long = Annotated[int, Type.LONG]
Short = Annotated[int, Type.SHORT]

# By the annotation of a field.
_TYPES: dict[Any, Type] = {
    bool: Type.BOOLEAN,
    str: Type.STRING,
    int: Type.INT,
    Short: Type.SHORT,
    Long: Type.LONG,
    float: Type.DOUBLE,
    tuple[str, ...]: Type.LIST,
    Password: Type.PASSWORD,
}
_BITS = {Type.SHORT: 16, Type.INT: 32, Type.LONG: 64}
_INTEGER = re.compile(r"([+-]?)(?=[0-9])0*+([0-9]{0,19})")  # 64 bits have up to 19 digits
_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, kw_only=True)
class Key:
    """One line of a definition."""

    name: str = ""  # Kafka's; this and the next two are filled in from the field
    field: str = ""
    type: Type = Type.STRING
    default: Any = None
    required: bool = False  # there is no default
    check: Check | None = None
    owner: Class | None = None  # the class in which its description stands, below the field ...
    text: str = ""  # ... and what is added to it; or all of it
    dynamic: bool = False  # may be changed while the broker runs
    topic: str = ""  # the topic's field whose default this is
    unit: int = 1  # in units of the topic's field: 3,600,000 for hours

    @property
    def doc(self) -> str:
        """The description."""
        found = docs(self.owner).get(self.topic or self.field, "") if self.owner else ""
        return found + self.text

    def parse(self, text: str) -> Any:
        """The value of a text, in the range of the key."""
        value = parse(self.name, self.type, text)
        self.validate(value)
        return value

    def validate(self, value: Any) -> None:
        if self.check is not None and value is not None:
            self.check(self.name, value)


def key(default: T, check: Check | None = None, **more: Any) -> T:
    """A field of a configuration. A type checker sees the type of the default."""
    definition = Key(default=default, check=check, **more)
    made: T = field(default=default, metadata={"key": definition})
    return made


def required(check: Check | None = None) -> Any:
    """A field that has no default."""
    return field(metadata={"key": Key(required=True, check=check)})


@cache
def docs(config: type) -> Mapping[str, str]:
    """The descriptions below the fields of a class and its bases. Python throws them away when it
    compiles the class, so they are read from its source, when a client first asks for them."""
    found: dict[str, str] = {}
    for base in reversed(config.__mro__[:-1]):  # object has none
        module = ast.parse(inspect.getsource(sys.modules[base.__module__]))
        for declared in module.body:
            if isinstance(declared, ast.ClassDef) and declared.name == base.__name__:
                found |= _strings_below(declared)
    return found


def _strings_below(declared: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Each field of a class with the string that stands below it."""
    for declaration, text in pairwise(declared.body):
        match declaration, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(words))),
            ):
                yield name, " ".join(words.split())


def _type(annotation: Any) -> Type:
    """Of `int`, or of `int | None`."""
    return next(_TYPES[each] for each in (annotation, *get_args(annotation)) if each in _TYPES)


@dataclass(frozen=True, kw_only=True)
class Config:
    """The base of all configurations: named values that are checked."""

    kind: ClassVar[str] = ""  # "topic", "broker": whose keys these are
    _keys: ClassVar[Mapping[str, Key]]

    def __post_init__(self) -> None:
        for it in self.keys().values():
            it.validate(getattr(self, it.field))
        self.validate_together()

    @classmethod
    def keys(cls) -> Mapping[str, Key]:
        """The keys by their Kafka names, in the order of their definition."""
        if "_keys" not in cls.__dict__:
            cls._keys = {}
            for it in fields(cls):
                if "key" not in it.metadata:
                    continue
                name = it.name.replace("_", ".")
                definition: Key = it.metadata["key"]
                owner = definition.owner or cls
                cls._keys[name] = replace(
                    definition, name=name, field=it.name, type=_type(it.type), owner=owner
                )
        return cls._keys

    @classmethod
    def known(cls) -> Mapping[str, Key]:
        """The keys that can be described and altered."""
        return cls.keys()

    @classmethod
    def find(cls, name: str) -> Key:
        """The key of a name, or an ApiException with the nearest name."""
        known = cls.keys()
        if name in known:
            return known[name]
        near = get_close_matches(name.lower().replace("_", "."), known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise invalid_config(f"Unknown {cls.kind} config name: {name}{hint}")

    def validate_together(self) -> None:
        """Refuse values that contradict each other, by `require`."""

    @staticmethod
    def require(holds: bool, message: str) -> None:
        if not holds:
            raise invalid_config(message)

    @classmethod
    def parse(cls, values: Mapping[str, str | None], base: Self | None = None) -> Self:
        """The values, by Kafka's names, over those of `base` or over the defaults."""
        parsed = cls.parsed(values)
        if base is not None:
            return replace(base, **parsed)
        for it in cls.keys().values():
            cls.require(
                not it.required or it.field in parsed,
                f'Missing required configuration "{it.name}" which has no default value.',
            )
        return cls(**parsed)

    @classmethod
    def parsed(cls, values: Mapping[str, str | None]) -> dict[str, Any]:
        """The values of texts, by their fields."""
        return {cls.find(name).field: cls.value(name, text) for name, text in values.items()}

    def lenient(self, values: Mapping[str, str]) -> tuple[Self, dict[str, str]]:
        """The values over this configuration, and for each ignored one the reason, by name."""
        faults: dict[str, str] = {}
        parsed: dict[str, dict[str, Any]] = {}
        for name, text in values.items():
            try:
                it = self.find(name)
                if self.kind == "broker" and not it.dynamic:
                    raise invalid(
                        name, text, "a restart is needed to change it, so ZooKeeper cannot set it"
                    )
                parsed[name] = {it.field: self.value(name, text)}
            except ApiException as error:
                faults[name] = error.message
        try:
            return replace(self, **ChainMap(*parsed.values())), faults
        except ApiException:  # each is valid alone: keep the first ones that do not contradict
            config = self
        for name, one in parsed.items():
            try:
                config = replace(config, **one)
            except ApiException as error:
                faults[name] = error.message
        return config, faults

    @classmethod
    def value(cls, name: str, text: str | None) -> Any:
        """One value, parsed and in range, or an ApiException."""
        it = cls.find(name)
        if text is None:
            raise invalid_request(f"Null value not supported for {cls.kind} configs: {name}")
        return it.parse(text)

    def texts(self) -> dict[str, str | None]:
        """Every value by its Kafka name, as Kafka prints it."""
        return {name: printed(getattr(self, it.field)) for name, it in self.keys().items()}


def parse(name: str, type: Type, text: str) -> Any:
    """Text to value, as strict as Kafka: not 1_000, not 1.0 for an integer, not yes for true."""
    text = text.strip()
    match type:
        case Type.STRING | Type.CLASS:
            return text
        case Type.PASSWORD:
            return Password(text)
        case Type.LIST:
            return tuple(item.strip() for item in text.split(",")) if text else ()
        case Type.BOOLEAN:
            if text.lower() not in ("true", "false"):
                raise invalid(name, text, "Expected value to be either true or false")
            return text.lower() == "true"
        case Type.DOUBLE:
            if _DOUBLE.fullmatch(text):
                return float(text)
        case _:
            number, limit = integer(text), 1 << _BITS[type] - 1
            if number is not None and -limit <= number < limit:
                return number
    raise invalid(name, text, f"Not a number of type {type.name}")


def integer(text: str) -> int | None:
    """The integer that a text stands for. None: there is none, or it has more than 19 digits.

    The cost is limited by the length of the text: Python refuses to convert very many digits.
    """
    match = _INTEGER.fullmatch(text)
    return int(match[1] + (match[2] or "0")) if match else None


def printed(value: Any) -> str | None:
    """A value as Kafka prints it; a key that is not set has none."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case tuple():
            return ",".join(value)
        case _:
            return str(value)


# -- ranges ----------------------------------------------------------------------------------


def at_least(least: float) -> Check:
    def check(name: str, value: Any) -> None:
        if value < least:
            raise invalid(name, value, f"Value must be at least {least}")

    return check


def between(least: float, most: float) -> Check:
    def check(name: str, value: Any) -> None:
        at_least(least)(name, value)
        if value > most:
            raise invalid(name, value, f"Value must be no more than {most}")

    return check


def one_of(*words: str) -> Check:
    """A word, or a list of words."""

    def check(name: str, value: Any) -> None:
        for word in value if isinstance(value, tuple) else (value,):
            if word not in words:
                raise invalid(name, word, f"String must be one of: {', '.join(words)}")

    return check


def not_empty(name: str, value: Any) -> None:
    if not value:
        raise invalid(name, value, "it must not be empty")


def invalid(name: str, value: Any, why: str) -> ApiException:
    return invalid_config(f"Invalid value {printed(value)} for configuration {name}: {why}")
