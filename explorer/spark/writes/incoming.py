"""New rows of a table: read through Spark, converted to the table's schema, checked against its rules.

Protocol sections: CHECK Constraints, Generated Columns, Default Columns, Identity Columns. Invariants: a column that
the rows lack is generated, defaulted or null, in this order; a column that the table lacks is refused; no row is
written unless all rows keep all rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import (
    ExplorerError,
    ExpressionRefused,
    InvalidIntent,
)
from explorer.core.protocol.counted import counted
from explorer.core.protocol.partition_values import format_partition_value
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
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
from explorer.spark.engine.deadline import limited
from explorer.spark.engine.failures import PLANNING_ERRORS
from explorer.spark.engine.session import engine
from explorer.spark.scan.physical import quoted, spark_type
from explorer.spark.writes.column_values import check_casts, column_value
from explorer.spark.writes.new_rows import NewRows, breaks_rules, broken_rules, widest_row, write_files
from explorer.spark.writes.source import source_frame, unchanged_guard, unfit
from explorer.spark.writes.source_files import FileStates, SourcePlace
from explorer.spark.writes.stored_expressions import Evaluated, evaluated, fault_of

if TYPE_CHECKING:
    from explorer.core.protocol.log_store import LogStore
    from explorer.core.versions.snapshot import Snapshot

_SAMPLES: Final = 10


@dataclass(frozen=True, slots=True)
class IncomingPlan:
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
    place: SourcePlace
    files: FileStates
    widest: int | None

    def failure(self, error: Exception) -> ExplorerError:
        """Return the typed error for an exception of running it."""
        return unfit(error)


@limited(lambda snapshot, *_, **__: rule_texts(snapshot))
def incoming_rows(
    snapshot: Snapshot, source: object, *, rules: Sequence[RowRule] = (), partitions: bool = False
) -> Incoming:
    """Count rows to write and check them against the table's rules; see `RowEngine.incoming_rows`."""
    session, place = engine().session(), SourcePlace.of(source)
    files = place.states()
    check_casts(session)
    try:
        frame = source_frame(session, place)
        shaped = _shaped(frame, snapshot)
    except PLANNING_ERRORS as error:
        raise unfit(error) from error
    judged = (*row_rules(snapshot), *rules)
    try:
        rows, widest, broken = _counted(shaped.rows, judged, _generated_identity(snapshot.schema, frame))
        touched = _partitions(shaped.rows, snapshot) if partitions else None
    except PLANNING_ERRORS as error:
        raise shaped.fault(judged) or unfit(error) from error
    except ExpressionRefused as error:
        raise shaped.fault(judged) or error from error
    given = {name.lower() for name in frame.columns}
    columns = tuple(field.name for field in snapshot.schema.fields if field.name.lower() in given)
    guards = [rule_guard(rule, count, rows, shaped.rows) for rule, count in broken]
    guards += default_guards(snapshot, columns, rows)
    planned = IncomingPlan(shaped.rows, judged, place, files, widest)
    return Incoming(rows, columns, tuple(guards), planned, touched, place.content(files))


def _partitions(frame: DataFrame, snapshot: Snapshot) -> frozenset[tuple[str | None, ...]]:
    """Return the partitions that rows are in, values as the log has them."""
    fields = [field for field in map(snapshot.schema.field, snapshot.partition_columns) if field is not None]
    kinds = [field.type.name for field in fields if isinstance(field.type, PrimitiveType)]
    distinct = frame.select(*(sf.col(quoted(field.name)) for field in fields)).distinct().toArrow()
    rows = zip(*(column.to_pylist() for column in distinct.columns), strict=True)
    return frozenset(tuple(map(format_partition_value, row, kinds)) for row in rows)


@limited()
def write_rows(store: LogStore, incoming: Incoming, layout: FileLayout, numbered: Sequence[Numbering]) -> Written:
    """Write such rows as data files, and judge the rules over exactly these rows; see `RowEngine.write_rows`."""
    source = incoming.source
    assert isinstance(source, IncomingPlan), "another engine planned these rows"
    new = NewRows(source, rules=source.rules, numbered=numbered, rows=incoming.rows, widest=source.widest)
    made = write_files(store, layout, new)
    guards = (
        *(rule_guard(rule, count, made.rows) for rule, count in broken_rules(source.rules, made)),
        *unchanged_guard((incoming.rows, source.files), (made.rows, source.place.states()), "its files or rows"),
    )
    return Written(tuple(map(layout.add_of, made.files)), (), made.rows, made.marks, guards)


@dataclass(frozen=True, slots=True)
class _Shaped:
    """Rows in the table's columns and types.

    Attributes:
        rows: The rows.
        given: The rows as they were given, and their columns in the types of the table.
        made: The values of the table's own expressions.
    """

    rows: DataFrame
    given: tuple[DataFrame, list[Column]]
    made: list[Evaluated]

    def fault(self, rules: Sequence[RowRule]) -> ExplorerError | None:
        """Return the expression of the table for which a pass over the rows failed; None where the rows do not fit."""
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
        name: _cast(evaluated(stored, frame), lacking[name])
        for name, stored in default_expressions(snapshot).items()
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
    """Return how many rows there are, the most bytes of text in one, and how many break each rule, in one pass.

    What gets its numbers later may be null.
    """
    judged = [rule for rule in rules if not (rule.kind == "not-null" and rule.name in numbered)]
    broken = breaks_rules(frame, judged)
    counts = [sf.count_if(breaks).alias(f"rule{place}") for place, breaks in enumerate(broken)]
    widest = sf.lit(None) if (known := widest_row(frame)) is None else known
    aggregates = (sf.count(sf.lit(1)).alias("rows"), widest.alias("widest"), *counts)
    counted: dict[str, Any] = frame.agg(*aggregates).toArrow().to_pylist()[0]
    return counted["rows"], counted["widest"], [(rule, counted[f"rule{place}"]) for place, rule in enumerate(judged)]


def rule_guard(rule: RowRule, broken: int, rows: int, among: DataFrame | None = None) -> GuardResult:
    """Return the verdict on a rule that so many of the new rows break.

    Args:
        broken: How many rows break it.
        rows: How many new rows there are.
        among: The new rows in the table's columns, of which some that break it are shown; None shows none.
    """
    evidence: dict[str, Any] = {"rule": rule.expression, "rows": rows, "violations": broken}
    if not broken:
        detail = "Every new row keeps it." if rows else "No new rows."
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


def rule_texts(snapshot: Snapshot) -> str:
    """Return the rules of a table that new rows are checked against, as one text."""
    return "; ".join(rule.expression for rule in row_rules(snapshot))
