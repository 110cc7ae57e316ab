"""Records as rows: a topic's keys and values as text, or as the columns of a schema.

    key   value (JSON)                 key   item      price  _deleted  _corrupt
    "ann" {"item":"tea","price":3}     ann   tea       3      false     -
    "bob" (null)                  ->   bob   -         -      true      -
    "eve" {"item":"tea","pri           eve   -         -      false     {"item":"tea","pri

A record that does not fit its schema stays a row, with its text in `_corrupt`; one without a value
is a tombstone, which deletes its key from a table. The columns `topic`, `partition`, `offset` and
`timestamp` have a record's origin; a field of the value with one of these names hides the column.

Invariant: one record, one row. Nothing is dropped here, and nothing stops the query.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from engine.errors import ApiException, ErrorCode

KEY, VALUE = "key", "value"
ORIGIN = ("topic", "partition", "offset", "timestamp")
DELETED, CORRUPT = "_deleted", "_corrupt"
Schema = StructType | str  # a str is DDL: "item STRING, price DOUBLE"


def stream(
    spark: SparkSession, bootstrap: str, topic: str, schema: Schema | None = None, **options: object
) -> DataFrame:
    """A topic as a stream, from its first record on, since a table needs all records.

    `options` are the source's; with `startingOffsets="latest"` it starts with new records.
    """
    chosen = {"startingOffsets": "earliest"} | options
    source = spark.readStream.format("kafka-lab").option("kafka.bootstrap.servers", bootstrap)
    return rows(source.option("subscribe", topic).options(**_text(chosen)).load(), schema)


def records(
    spark: SparkSession, bootstrap: str, topic: str, schema: Schema | None = None, **options: object
) -> DataFrame:
    """A topic as a table: the records that it has when it is read first."""
    source = spark.read.format("kafka-lab").option("kafka.bootstrap.servers", bootstrap)
    return rows(source.option("subscribe", topic).options(**_text(options)).load(), schema)


def rows(raw: DataFrame, schema: Schema | None = None) -> DataFrame:
    """Key and value as text; with a schema, the value's fields instead of the value."""
    text = raw.withColumns({name: f.col(name).cast("string") for name in (KEY, VALUE)})
    if schema is None:
        return text.select(KEY, VALUE, *ORIGIN)
    fields = _fields(schema)
    wanted = StructType([*fields, StructField(CORRUPT, StringType())])
    parsed = f.from_json(VALUE, wanted, {"columnNameOfCorruptRecord": CORRUPT})
    unread = f.col("_parsed").isNull() & f.col(VALUE).isNotNull()  # an empty text, or a lone null
    return text.withColumn("_parsed", parsed).select(
        KEY,
        *(f.col("_parsed")[name].alias(name) for name in fields.names),
        f.col(VALUE).isNull().alias(DELETED),
        f.when(unread, f.col(VALUE)).otherwise(f.col("_parsed")[CORRUPT]).alias(CORRUPT),
        *(name for name in ORIGIN if name not in fields.names),
    )


def good(df: DataFrame) -> DataFrame:
    """The rows that fitted their schema, tombstones among them."""
    return df.where(f.col(CORRUPT).isNull()).drop(CORRUPT)


def bad(df: DataFrame) -> DataFrame:
    """The rows that did not fit their schema: their text, and where they came from."""
    came = [name for name in ORIGIN if name in df.columns]
    return df.where(f.col(CORRUPT).isNotNull()).select(KEY, CORRUPT, *came)


def is_deleted(df: DataFrame) -> Column:
    """Whether a row deletes its key."""
    if DELETED in df.columns:
        return f.col(DELETED)
    if {VALUE, *ORIGIN} <= set(df.columns):  # a record as it is
        return f.col(VALUE).isNull()
    return f.lit(False).cast(BooleanType())


def _fields(schema: Schema) -> StructType:
    fields = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    if not isinstance(fields, StructType):  # DDL may be a lone type, "INT"
        raise ApiException(
            ErrorCode.invalid_request, f"a schema names fields, as in 'item STRING', not {schema!r}"
        )
    for name in (KEY, DELETED, CORRUPT):
        if name in fields.names:
            raise ApiException(
                ErrorCode.invalid_request,
                f"the schema has a field {name!r}, which is the name of a column of every record: "
                "call it by another name in the values",
            )
    return fields


def _text(options: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}
