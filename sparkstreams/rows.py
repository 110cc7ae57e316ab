"""Converts rows of a DataFrame to records, by the columns of Spark's own Kafka sink.

    value      STRING or BINARY     null is a tombstone
    key        STRING or BINARY     optional: without one, any partition will do
    topic      STRING               optional if the option of that name is set, which has precedence
    partition  INT                  optional: null leaves it to the key
    headers    ARRAY<STRUCT<key: STRING, value: BINARY>>      optional

Other columns are ignored. The schema shows whether a DataFrame can be written, before the first row
is read.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructType

from engine.errors import ApiException, ErrorCode
from engine.storage.records import Headers

TEXT = (StringType, BinaryType)
KINDS: dict[str, tuple[type[DataType], ...]] = {
    "topic": (StringType,),
    "partition": (IntegerType,),
    "key": TEXT,
    "value": TEXT,
}
HEADERS = "ARRAY<STRUCT<key: STRING, value: BINARY>>"


class SinkRow(NamedTuple):
    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


def check(schema: StructType, topic: str | None) -> None:
    """Refuse a DataFrame that can't be written, by the name of what is wrong with it."""
    columns = {each.name: each.dataType for each in schema.fields}
    if "value" not in columns:
        raise refused(f"there is no column value, only {', '.join(columns) or 'none at all'}")
    if topic is None and "topic" not in columns:
        raise refused("no row says where it goes: set the option topic, or add a column topic")
    for name, kinds in KINDS.items():
        if name in columns and not isinstance(columns[name], kinds):
            wanted = " or ".join(kind().simpleString().upper() for kind in kinds)
            raise refused(f"column {name} is {_type_name(columns[name])}, not {wanted}")
    if "headers" in columns and not _are_headers(columns["headers"]):
        raise refused(f"column headers is {_type_name(columns['headers'])}, not {HEADERS}")


def refused(why: str) -> ApiException:
    return ApiException(ErrorCode.invalid_request, f"the rows can't be written: {why}")


def _type_name(kind: DataType) -> str:
    return kind.simpleString().upper()


def _are_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    inside = [(each.name, type(each.dataType)) for each in kind.elementType.fields]
    return inside == [("key", StringType), ("value", BinaryType)]


def rows(batch: pa.RecordBatch, topic: str | None) -> Iterator[SinkRow]:
    """The records of an Arrow batch whose schema was checked."""
    count, names = batch.num_rows, batch.schema.names

    def column(name: str, *, text: bool = False) -> list[Any]:
        if name not in names:
            return [None] * count
        found = batch.column(names.index(name))
        return list((found.cast(pa.large_binary()) if text else found).to_pylist())

    topics = column("topic") if topic is None else [topic] * count
    headers = [() if it is None else _headers(it) for it in column("headers")]
    columns = column("partition"), column("key", text=True), column("value", text=True), headers
    for where, *rest in zip(topics, *columns, strict=True):
        if where is None:
            raise refused("column topic is null in a row, and there is no option topic")
        yield SinkRow(where, *rest)


def _headers(found: list[dict[str, Any]]) -> Headers:
    for each in found:
        if each is None or each["key"] is None:
            raise refused("a header without a name: its key is null")
    return tuple((each["key"], each["value"]) for each in found)
