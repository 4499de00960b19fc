"""New rows of a table: read through Spark, converted to the table's schema, checked against its rules.

Protocol sections: CHECK Constraints, Generated Columns, Default Columns, Identity Columns. Invariants: a column that
the rows lack is generated, defaulted or null, in this order; a column that the table lacks is refused; no row is
written unless all rows keep all rules.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, cast

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema

from explorer.core.errors import (
    Cancelled,
    CorruptTable,
    EngineUnavailable,
    ExplorerError,
    ExpressionRefused,
    InvalidIntent,
    NotAllowed,
)
from explorer.core.protocol.counted import counted
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.partition_values import format_partition_value
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType, format_column
from explorer.core.protocol.schema.edit import choices, first_names
from explorer.core.protocol.schema.field_metadata import (
    GENERATION_EXPRESSION,
    IDENTITY_ALLOW_EXPLICIT_INSERT,
    IDENTITY_START,
)
from explorer.core.transaction.guards.rows import row_texts
from explorer.core.transaction.new_files.file_facts import Numbering
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.new_files.row_constraints import (
    RowRule,
    default_expressions,
    default_guards,
    generated_expression,
    row_rules,
)
from explorer.core.transaction.proposal import GuardResult, Written
from explorer.core.transaction.row_engine import Incoming
from explorer.spark.engine.failures import condition_of, failure_of, first_sentence
from explorer.spark.engine.file_addresses import escaped, is_hidden
from explorer.spark.engine.session import engine
from explorer.spark.scan.physical import quoted, spark_type
from explorer.spark.writes.column_values import check_casts, column_value
from explorer.spark.writes.kept_expressions import Evaluated, evaluated, fault_of
from explorer.spark.writes.new_rows import NewRows, breaks_rules, broken_rules, write_files
from explorer.spark.writes.row_widths import widest_row
from explorer.spark.writes.source_state import FileStates, file_states, unchanged_guard
from explorer.storage.roots import check_plain, folder_of, is_url

if TYPE_CHECKING:
    from explorer.core.protocol.log_store import LogStore
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["incoming_rows", "new_fields", "rule_guard", "source_frame", "written_rows"]

_SAMPLES: Final = 10


@dataclass(frozen=True, slots=True)
class PlannedRows:
    """Rows in the table's schema, planned and not run.

    Attributes:
        frame: The rows.
        rules: What each of them must satisfy.
        place: Where they come from.
        files: The files there, as they were when the rows were planned.
        widest: The most bytes of text in a row; None where it is not known.
    """

    frame: DataFrame
    rules: tuple[RowRule, ...]
    place: object
    files: FileStates
    widest: int | None

    def failure(self, error: Exception) -> ExplorerError:
        """The typed error for what running it raised."""
        return _unfit(error)


def incoming_rows(
    snapshot: Snapshot, source: object, *, rules: Sequence[RowRule] = (), partitions: bool = False
) -> Incoming:
    """Read rows and check them against the table's rules.

    Args:
        snapshot: The version to add them to.
        source: A Parquet or CSV file or folder, or rows.
        rules: What they must satisfy beside the table's own rules.
        partitions: Find out which partitions they are in.

    Raises:
        InvalidIntent: The source cannot be read, or its columns do not fit the table.
        EngineUnavailable: Spark or Java is missing.
    """
    session, files = engine().session(), file_states(source)
    check_casts(session)
    try:
        frame = source_frame(session, source)
        shaped = _shaped(frame, snapshot)
    except PySparkException as error:
        raise _unfit(error) from error
    judged = (*row_rules(snapshot), *rules)
    try:
        rows, widest, broken = _counted(shaped.rows, judged, _generated_identity(snapshot.schema, frame))
        found = _partitions(shaped.rows, snapshot) if partitions else None
    except PySparkException as error:
        raise shaped.fault(judged) or _unfit(error) from error
    except ExpressionRefused as error:
        raise shaped.fault(judged) or error from error
    given = {name.lower() for name in frame.columns}
    columns = tuple(field.name for field in snapshot.schema.fields if field.name.lower() in given)
    guards = [rule_guard(rule, count, rows, shaped.rows) for rule, count in broken]
    guards += default_guards(snapshot, columns, rows)
    return Incoming(rows, columns, tuple(guards), PlannedRows(shaped.rows, judged, source, files, widest), found)


def new_fields(schema: StructType, source: object) -> tuple[JsonObject, ...]:
    """The columns and nested fields of a source that the table lacks; see `RowEngine.new_fields`."""
    try:
        frame = source_frame(engine().session(), source)
        return tuple(_foreign((), frame.schema.fields, schema))
    except PySparkException as error:
        raise _unfit(error) from error


def _foreign(parent: tuple[str, ...], given: Sequence[st.StructField], known: StructType) -> Iterator[JsonObject]:
    fields = {field.name.lower(): field for field in known.fields}
    for field in given:
        own = fields.get(field.name.lower())
        if own is None:
            kind = _nullable(field.dataType).jsonValue()
            yield {"name": format_column((*parent, field.name)), "type": kind, "nullable": True, "metadata": {}}
        elif isinstance(own.type, StructType) and isinstance(field.dataType, st.StructType):
            yield from _foreign((*parent, own.name), field.dataType.fields, own.type)


def _nullable(kind: st.DataType) -> st.DataType:
    """A type with every part nullable and without metadata of fields."""
    match kind:
        case st.StructType():
            return st.StructType([st.StructField(field.name, _nullable(field.dataType)) for field in kind.fields])
        case st.ArrayType():
            return st.ArrayType(_nullable(kind.elementType))
        case st.MapType():
            return st.MapType(_nullable(kind.keyType), _nullable(kind.valueType))
        case _:
            return kind


def _partitions(frame: DataFrame, snapshot: Snapshot) -> frozenset[tuple[str | None, ...]]:
    """The partitions that rows are in, values as the log has them."""
    fields = [field for field in map(snapshot.schema.field, snapshot.partition_columns) if field is not None]
    kinds = [field.type.name for field in fields if isinstance(field.type, PrimitiveType)]
    found = frame.select(*(sf.col(quoted(field.name)) for field in fields)).distinct().toArrow()
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    return frozenset(tuple(map(format_partition_value, row, kinds)) for row in rows)


def written_rows(
    store: LogStore,
    incoming: Incoming,
    layout: FileLayout,
    numbered: Sequence[Numbering],
) -> Written:
    """Write such rows as data files, and judge the rules over exactly the rows written.

    Args:
        store: The table's store.
        incoming: The rows.
        layout: The layout that the table asks for.
        numbered: The identity columns to fill.

    Raises:
        InvalidIntent: A row does not fit.
        EngineUnavailable: Spark or Java is missing.
    """
    source = incoming.source
    assert isinstance(source, PlannedRows), "another engine planned these rows"
    new = NewRows(source, rules=source.rules, numbered=numbered, rows=incoming.rows, widest=source.widest)
    made = write_files(store, layout, new)
    guards = (
        *(rule_guard(rule, count, made.rows) for rule, count in broken_rules(source.rules, made)),
        *unchanged_guard((incoming.rows, source.files), (made.rows, file_states(source.place)), "its files or rows"),
    )
    return Written(tuple(map(layout.add_of, made.files)), (), made.rows, made.marks, guards)


def refusal(error: Exception, what: str, field: str) -> ExplorerError:
    """What Spark raised while rows of a source, or expressions, were looked at, as an error of the intent.

    Args:
        error: What was raised.
        what: What then does not fit, as the beginning of a sentence.
        field: The field of the intent that it is in.
    """
    found = failure_of(error)
    if isinstance(found, (EngineUnavailable, Cancelled, NotAllowed)):
        return found
    if condition_of(error) == "PATH_NOT_FOUND":
        return InvalidIntent(f"The source cannot be read: {first_sentence(error)} Check its path.", field="source")
    if condition_of(error) is None:
        return InvalidIntent(f"{what}. {found.message}", field=field)
    return InvalidIntent(f"{what}: {first_sentence(error)}", field=field)


def _unfit(error: Exception) -> ExplorerError:
    return refusal(error, "The rows do not fit the table", "source")


def source_frame(session: SparkSession, source: object) -> DataFrame:
    """The rows of a source: a Parquet or CSV file or folder, an Arrow table, or a DataFrame of Spark.

    Raises:
        InvalidIntent: It is none of these, or a Delta table.
    """
    if isinstance(source, pa.Table):
        if source.num_rows:
            return session.createDataFrame(source)
        # Spark Connect asks for the types of a table without rows.
        zoneless = session.conf.get("spark.sql.timestampType") == "TIMESTAMP_NTZ"
        return session.createDataFrame([], from_arrow_schema(source.schema, prefer_timestamp_ntz=zoneless))
    if not isinstance(source, str):
        # A DataFrame of Spark Connect is of another class than one of Spark's own.
        if not hasattr(source, "mapInArrow"):
            raise InvalidIntent(f"Rows cannot be read from {type(source).__name__}.", field="source")
        return cast("DataFrame", source)
    place, local = _place_of(source)
    if local is not None and os.path.isdir(f"{local}/_delta_log"):
        raise InvalidIntent(
            f"The source {source!r} is a Delta table: its files hold rows that were deleted too. Append the rows of a "
            "version instead: write them to a file (delta-explorer rows TABLE --output), or give them as rows.",
            field="source",
        )
    suffix = PurePosixPath(source.rstrip("/")).suffix.lower()
    reader = session.read.options(recursiveFileLookup="false")
    match suffix:
        case ".csv":
            return reader.csv(place, header=True, inferSchema=False, mode="FAILFAST", enforceSchema=False)
        case ".parquet" | "":
            return _without_defaults(reader, place)
        case _:
            raise InvalidIntent(
                f"The source {source!r} has a name that is neither Parquet nor CSV.",
                field="source",
                allowed=[".parquet", ".csv", "a folder of Parquet files"],
            )


def _without_defaults(reader: DataFrameReader, source: str) -> DataFrame:
    """The rows of Parquet files, without the expressions that a file can name as defaults of columns which it lacks:
    Spark evaluates them."""
    found = reader.parquet(source)
    if not any(field.metadata for field in found.schema.fields):
        return found
    plain = _nullable(found.schema)
    assert isinstance(plain, st.StructType)
    return reader.schema(plain).parquet(source)


def _place_of(source: str) -> tuple[str, str | None]:
    """Where Spark is to read a source, and its real path where it is on this machine.

    Raises:
        RequestError: The source is an address with credentials.
        InvalidIntent: It is a pattern, or a file whose name Spark skips.
    """
    check_plain(source)
    if is_url(source):
        return source, None
    path = os.path.realpath(folder_of(source))
    if os.path.exists(path):
        if is_hidden(path):
            raise InvalidIntent(
                f"Spark skips a source of this name: {source!r}. It treats names that begin with _ or . as hidden. "
                "Rename it, or give the rows themselves.",
                field="source",
            )
        return f"file:{escaped(path)}", path
    if escaped(source) != source:
        raise InvalidIntent(
            f"The source {source!r} does not exist, and patterns are not expanded. Give one file, or a folder.",
            field="source",
        )
    # It may be on the machines of a cluster.
    return source, None


@dataclass(frozen=True, slots=True)
class _Shaped:
    """Rows in the table's columns and types.

    Attributes:
        rows: The rows.
        given: The rows as they were given, and their columns in the types of the table.
        made: What the table's own expressions give.
    """

    rows: DataFrame
    given: tuple[DataFrame, list[Column]]
    made: list[Evaluated]

    def fault(self, rules: Sequence[RowRule]) -> CorruptTable | ExpressionRefused | None:
        """The expression of the table for which a pass over the rows failed; None where the rows do not fit."""
        return fault_of(*self.given, self.made, self.rows, rules)


def _shaped(frame: DataFrame, snapshot: Snapshot) -> _Shaped:
    types = {field.name: field.dataType for field in frame.schema.fields}
    given = {name.lower(): name for name in types}
    if len(given) < len(frame.columns):
        raise InvalidIntent("The rows have two columns whose names differ only by case.", field="source")
    known = {field.name.lower() for field in snapshot.schema.fields}
    foreign = [name for name in frame.columns if name.lower() not in known]
    if foreign:
        names = first_names(field.name for field in snapshot.schema.fields)
        raise InvalidIntent(
            f"The table has no column {foreign[0]!r}. Its columns: {names}. Set mergeSchema to add the column, or "
            "leave it out.",
            field="source",
            allowed=choices(field.name for field in snapshot.schema.fields),
        )
    fields = [field for field in snapshot.schema.fields if field.name.lower() in given]
    own = {field.name: _given_value(field, given, types) for field in fields}
    lacking = {field.name: field for field in snapshot.schema.fields if field.name.lower() not in given}
    defaults = {
        name: _cast(evaluated(kept, frame), lacking[name])
        for name, kept in default_expressions(snapshot).items()
        if name in lacking and not _computed(lacking[name], given)
    }
    plain = own | {name: one.value for name, one in defaults.items()}
    nothing = sf.lit(None)
    first = frame.select(
        *(
            plain.get(field.name, nothing.cast(spark_type(field.type))).alias(field.name)
            for field in snapshot.schema.fields
            if not _computed(field, given)
        )
    )
    generated = {
        name: _cast(evaluated(generated_expression(field, snapshot.schema), first), field)
        for name, field in lacking.items()
        if _computed(field, given)
    }
    values = {name: one.value.alias(name) for name, one in generated.items()}
    columns = [field.name for field in snapshot.schema.fields]
    rows = first.select(*(values.get(name, sf.col(quoted(name))) for name in columns))
    return _Shaped(rows, (frame, list(own.values())), [*defaults.values(), *generated.values()])


def _cast(made: Evaluated, field: StructField) -> Evaluated:
    return replace(made, value=made.value.cast(spark_type(field.type)))


def _computed(field: StructField, given: dict[str, str]) -> bool:
    return GENERATION_EXPRESSION in field.metadata and field.name.lower() not in given


def _given_value(field: StructField, given: dict[str, str], types: dict[str, st.DataType]) -> Column:
    name = given[field.name.lower()]
    if IDENTITY_START in field.metadata and not field.metadata.get(IDENTITY_ALLOW_EXPLICIT_INSERT, False):
        raise InvalidIntent(
            f"The identity column {field.name!r} is GENERATED ALWAYS: leave it out of the rows.", field="source"
        )
    return column_value(sf.col(quoted(name)), types[name], spark_type(field.type), field.name)


def _generated_identity(schema: StructType, frame: DataFrame) -> frozenset[str]:
    given = {name.lower() for name in frame.columns}
    return frozenset(f.name for f in schema.fields if IDENTITY_START in f.metadata and f.name.lower() not in given)


def _counted(
    frame: DataFrame, rules: Sequence[RowRule], numbered: frozenset[str]
) -> tuple[int, int | None, list[tuple[RowRule, int]]]:
    """How many rows there are, the most bytes of text in one, and how many break each rule, in one pass.

    What gets its numbers later may be null.
    """
    judged = [rule for rule in rules if not (rule.kind == "not-null" and rule.name in numbered)]
    broken = breaks_rules(frame, judged)
    counts = [sf.count_if(breaks).alias(f"rule{place}") for place, breaks in enumerate(broken)]
    widest = sf.lit(None) if (known := widest_row(frame)) is None else known
    asked = (sf.count(sf.lit(1)).alias("rows"), widest.alias("widest"), *counts)
    found: dict[str, Any] = frame.agg(*asked).toArrow().to_pylist()[0]
    return found["rows"], found["widest"], [(rule, found[f"rule{place}"]) for place, rule in enumerate(judged)]


def rule_guard(rule: RowRule, broken: int, rows: int, among: DataFrame | None = None) -> GuardResult:
    """The verdict on a rule that so many of the new rows break.

    Args:
        rule: The rule.
        broken: How many rows break it.
        rows: How many new rows there are.
        among: The new rows in the table's columns, of which some that break it are shown; None shows none.
    """
    evidence: dict[str, Any] = {"rule": rule.expression, "rows": rows, "violations": broken}
    if not broken:
        detail = "Every new row keeps it." if rows else "There is no new row."
        if rows and rule.stored is not None and rule.stored.doubt:
            doubt = evidence | {"detail": f"{rule.stored.doubt} {detail.rstrip('.')} as Spark reads it."}
            return GuardResult(f"new-rows:{rule.kind}:{rule.name}", "unknown", doubt, rule.stored.remedy)
        return GuardResult(f"new-rows:{rule.kind}:{rule.name}", "pass", evidence | {"detail": detail})
    if among is not None:
        (breaks,) = breaks_rules(among, [rule])
        samples = among.where(breaks).limit(_SAMPLES)
        evidence["examples"] = [{"row": texts} for texts in row_texts(samples.toArrow())]
    return GuardResult(
        f"new-rows:{rule.kind}:{rule.name}",
        "fail",
        evidence | {"detail": f"{broken} of {counted(rows, 'row')} {'breaks' if broken == 1 else 'break'} it."},
        "Fix these rows or leave them out.",
    )
