"""What the values of columns must be: nulls, identity columns, and the table's own rules against its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import NotAnswered, Rule, see
from explorer.auditing.subject import Subject
from explorer.auditing.words import named
from explorer.core.protocol.arrow.arrays import floats, mask, only_array, validity
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column
from explorer.core.protocol.schema.field_metadata import IDENTITY_START
from explorer.core.protocol.sql.stored_expressions import Mentions
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn
from explorer.core.protocol.table_features import active_features
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.transaction.intents.records import DropNotNull, SetNotNull, SyncIdentity
from explorer.core.transaction.proposals.identity_columns import identity_rule, recorded_extreme
from explorer.core.transaction.row_engine import CheckResult

_ENOUGH: Final = 10_000


def _nullable(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Report nullable columns without a null in a large table, unless a CHECK constraint names them."""
    snapshot = subject.snapshot
    rows = subject.num_rows or 0
    if rows < _ENOUGH:
        return ()
    if subject.too_many_statistics is not None:
        return NotAnswered(subject.too_many_statistics)
    checked = Mentions(constraints(snapshot.metadata.configuration).values(), snapshot.schema)
    unchecked = [
        column
        for column in snapshot.statistics_columns
        if len(column.path) == 1 and _may_be_null(snapshot.schema, column) and not checked.of(column.path)
    ]
    free = [column.name for column, ranges in subject.column_ranges_of(unchecked, known=True) if _nulls(ranges) == 0]
    if not free:
        return ()
    one = len(free) == 1
    return (
        Finding(
            rule="nullable-without-nulls",
            severity="info",
            label=f"{fmt.plural(len(free), 'column')} could be NOT NULL",
            title=f"{fmt.plural(len(free), 'column allows', 'columns allow')} nulls; "
            + ("it has none" if one else "none has any"),
            evidence=(
                Evidence(named(free), Place("statistics", column=free[0])),
                Evidence(f"{fmt.plural(rows, 'row')}, with null counts for every file"),
            ),
            effect="Nothing prevents the first null, and code that relies on there being none gets no warning.",
            remedy=Remedy(
                f"Make {fmt.shorten(fmt.plain(free[0], 200), 40)} NOT NULL\u2026", SetNotNull(column=free[0])
            ),
            rows=rows,
        ),
    )


def _nulls_in_required(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Report NOT NULL columns for which a file without masked rows counts nulls."""
    snapshot = subject.snapshot
    required = [column for column in snapshot.statistics_columns if not _may_be_null(snapshot.schema, column)]
    if not required:
        return ()
    if subject.too_many_statistics is not None:
        return NotAnswered(subject.too_many_statistics)
    ranges_of = subject.column_ranges_of(required, known=True)
    counts = {column.name: _certain_nulls(subject, ranges) for column, ranges in ranges_of}
    broken = {name: nulls for name, nulls in counts.items() if nulls[0]}
    if not broken:
        return ()
    name, (rows, path) = next(iter(broken.items()))
    return (
        Finding(
            rule="null-in-not-null",
            severity="error",
            label=f"{fmt.plural(len(broken), 'NOT NULL column')} with nulls",
            title=f"{named([name])} is NOT NULL, and null in {fmt.plural(rows, 'row')}",
            evidence=(Evidence(f"by the statistics of {named([path])}", Place("statistics", column=name)),),
            effect="A query engine that relies on the schema skips its null handling and returns wrong results.",
            remedy=Remedy(
                f"Allow nulls in {fmt.shorten(fmt.plain(name, 200), 40)}\u2026", intent=DropNotNull(column=name)
            ),
            rows=sum(count for count, _ in broken.values()),
        ),
    )


def _may_be_null(schema: StructType, column: StatisticsColumn) -> bool:
    """Return whether a column, or a struct that it lies in, may be null."""
    kind = schema
    for part in column.path:
        field = kind.field(part)
        if field is None or field.nullable:
            return True
        if isinstance(field.type, StructType):
            kind = field.type
    return False


def _nulls(ranges: pa.Table) -> int | None:
    """Return the nulls of a column over all files; None if unknown for one of them."""
    counts = ranges.column("null_count")
    return None if counts.null_count or not len(counts) else int(pc.sum(counts).as_py())


def _certain_nulls(subject: Subject, ranges: pa.Table) -> tuple[int, str]:
    """Nulls in files without masked rows, and the first such file."""
    some = floats(ranges.column("null_count")) > 0
    unmasked = ~validity(only_array(subject.snapshot.files(["dv_cardinality"]), "dv_cardinality"))
    files = ranges.filter(mask(some & unmasked))
    if not files.num_rows:
        return 0, ""
    return int(pc.sum(files.column("null_count")).as_py()), str(files.column("path")[0].as_py())


def _counting(subject: Subject) -> list[StructField]:
    """Return the identity columns."""
    snapshot = subject.snapshot
    if "identityColumns" not in active_features(snapshot.protocol):
        return []
    return [field for field in snapshot.schema.fields if IDENTITY_START in field.metadata]


def _damaged_marks(subject: Subject) -> tuple[Finding, ...]:
    """Identity columns whose high-water mark no step reaches from the start (IDENT-008)."""
    rules = {field.name: identity_rule(format_column((field.name,)), field) for field in _counting(subject)}
    damaged = {name: rule for name, rule in rules.items() if not rule.is_mark_reached}
    if not damaged:
        return ()
    name, rule = next(iter(damaged.items()))
    claim = f"start {rule.start:,}, step {rule.step:,}, mark {rule.mark:,}"
    return (
        Finding(
            rule="identity-mark-damaged",
            severity="warning",
            label=f"{fmt.plural(len(damaged), 'damaged mark')}",
            title=f"No step of the identity column {named([name])} leads to its high-water mark",
            evidence=(Evidence(claim, Place("columns", column=name)),),
            effect="A faulty writer set it. Engines refuse to write, or continue from the next value that a step "
            "reaches.",
            remedy=see(subject, "See the columns, then run SYNC IDENTITY in Spark", Place("columns", column=name)),
        ),
    )


def _identity(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Identity columns with values beyond the mark: values to come may be there already."""
    columns = [field.name for field in _counting(subject)]
    if not columns:
        return ()
    if subject.too_many_statistics is not None:
        return NotAnswered(subject.too_many_statistics)
    answers = {name: _beyond(subject, name) for name in columns}
    behind = {name: answer for name, answer in answers.items() if answer}
    if not behind:
        unknown = [name for name, answer in answers.items() if answer is None]
        return NotAnswered(f"The statistics do not record the last value of {named(unknown)}.") if unknown else ()
    name, claim = next(iter(behind.items()))
    return (
        Finding(
            rule="identity-behind",
            severity="warning",
            label=f"{fmt.plural(len(behind), 'identity column')} behind",
            title=f"The identity column {named([name])} has values beyond its high-water mark",
            evidence=(Evidence(claim, Place("statistics", column=name)),),
            effect="New rows may get values that other rows already have.",
            remedy=Remedy("Update the high-water mark\u2026", intent=SyncIdentity(column=format_column((name,)))),
        ),
    )


def _beyond(subject: Subject, name: str) -> str | None:
    """Return how far an identity column is beyond its mark, in words; empty if it is not, None if unknown."""
    column = format_column((name,))
    field = subject.snapshot.schema.field(name)
    assert field is not None
    rule = identity_rule(column, field)
    known, extreme = recorded_extreme(subject.snapshot, column)
    if not known:
        return None
    mark = "none" if rule.mark is None else f"{rule.mark:,}"
    return f"last value {extreme:,}, mark {mark}" if extreme is not None and rule.is_beyond(extreme) else ""


def _broken_rows(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    report = subject.inputs.rows
    if report is None:
        return NotAnswered("The rows were not checked. Repeat the audit with rows, which needs Spark.")
    unjudged = [result.name for result in report.predicates if result.violations is None]
    broken = {result.name: result for result in report.predicates if result.violations}
    if not broken:
        return NotAnswered(f"Spark could not evaluate {named(unjudged)}.") if unjudged else ()
    rows = max(result.violations or 0 for result in broken.values())
    return (
        Finding(
            rule="broken-rules",
            severity="error",
            label=f"{fmt.plural(len(broken), 'rule')} broken",
            title=f"{fmt.plural(rows, 'row')} {'violates' if rows == 1 else 'violate'} a constraint of the table",
            evidence=(
                *_broken_evidence(list(broken.values())),
                *((Evidence(f"not checked: {named(unjudged)}"),) if unjudged else ()),
            ),
            effect="Writers refuse such rows, so these were written without the check. Queries that rely on the "
            "constraint return wrong results.",
            remedy=see(subject, "See the files, then correct or delete these rows", Place("files")),
            versions=((report.version, report.version),),
            rows=rows,
        ),
    )


def _broken_evidence(results: list[CheckResult]) -> Iterator[Evidence]:
    for result in results[:4]:
        text = (
            f"{result.name}: {fmt.plural(result.violations or 0, 'row')} in {fmt.plural(result.files.num_rows, 'file')}"
        )
        yield Evidence(fmt.shorten(fmt.plain(text, 300), 200), Place("files"))


VALUE_RULES: Final = (
    Rule(
        "null-in-not-null",
        "error",
        "nulls in NOT NULL columns",
        "Engines rely on the schema and return wrong results.",
        _nulls_in_required,
    ),
    Rule(
        "broken-rules",
        "error",
        "rows that violate the table’s constraints",
        "Constraints are only checked for rows written after them.",
        _broken_rows,
    ),
    Rule(
        "identity-behind",
        "warning",
        "identity columns whose mark is behind their values",
        "Values that should be unique may repeat.",
        _identity,
    ),
    Rule(
        "identity-mark-damaged",
        "warning",
        "identity columns whose mark is not reachable",
        "Engines that check it stop writing; others skip values.",
        _damaged_marks,
    ),
    Rule(
        "nullable-without-nulls",
        "info",
        "nullable columns without nulls",
        "The schema could require this.",
        _nullable,
    ),
)
