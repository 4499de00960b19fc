"""``compare``: two tables side by side, their rows through Spark, and what would make the second like the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, SparkConfOption, SparkOption, TableArgument, checked_version, use_spark
from explorer.cli.named_times import version_of
from explorer.cli.output import console, emit, encode, listing, note, patience
from explorer.cli.tables import open_named
from explorer.core.errors import ExplorerError, RequestError
from explorer.core.protocol.json_values import JsonObject, JsonRecord
from explorer.core.protocol.statistics.column_summary import ColumnSummary
from explorer.core.versions.table_comparison import TableComparison, TableDifference

if TYPE_CHECKING:
    from explorer.changed_rows.difference_preview import RowDiffPreview
    from explorer.core.transaction.alignment import AlignmentStep

_ROWS_SHOWN = 20
_WIDEST = 60


class ComparedAmount(JsonRecord, frozen=True, kw_only=True):
    """A number of both tables; null where the log does not record it."""

    name: str
    first: int | None
    second: int | None


class ColumnBounds(JsonRecord, frozen=True, kw_only=True):
    """A column of one table, by its statistics over all live files.

    Attributes:
        min, max: Least and greatest value; null where no file has one.
        least_nulls, most_nulls: Between how many rows are null; equal where that is exact.
        rows: The rows of the files that count nulls; null if no file does.
    """

    min: object
    max: object
    least_nulls: int
    most_nulls: int
    rows: int | None


class ComparedBounds(JsonRecord, frozen=True, kw_only=True):
    """A column that both tables have; ``differs`` is null where nothing is known of one of them."""

    column: str
    differs: bool | None
    first: ColumnBounds | None
    second: ColumnBounds | None


class DifferingRowCounts(JsonRecord, frozen=True, kw_only=True):
    """How many rows differ.

    Attributes:
        keys: The columns by which rows are matched; none compares entire rows.
        only_first, only_second: Rows that one table alone has.
        changed: Rows of one key with other values; null without a key.
        repeated_keys: Rows whose key a table has more than once, so that they cannot be matched.
        left_out: Columns that are not compared, and why.
    """

    keys: tuple[str, ...]
    only_first: int
    only_second: int
    changed: int | None
    repeated_keys: int
    left_out: dict[str, str]


class PlannedStep(JsonRecord, frozen=True, kw_only=True):
    """What would make the second table more like the first.

    Attributes:
        intent: As `plan` and `commit` take it; null where no change of a table can do it.
        answers: The names of the differences that it answers.
        plan: What a plan of it on the second table, as it is, says: committable, guards (one fails, or is unknown),
            refused, or null without an intent. A step after the first may need those before it.
        because: Why it cannot be committed; null where it can.
    """

    intent: JsonObject | None
    answers: tuple[str, ...]
    plan: Literal["committable", "guards", "refused"] | None
    because: str | None


class CompareDocument(JsonRecord, frozen=True, kw_only=True):
    """Two tables side by side.

    Attributes:
        same_definition: The differences are each table's own, such as its ID, or there are none.
        differences: What differs in schema, partitioning, properties, constraints, protocol and domains.
        bounds: Columns that both tables have, by their statistics.
        bounds_left_out: How many more such columns there are.
        rows: With --rows, otherwise null.
        steps: With --intents, otherwise null.
    """

    table: str
    version: int
    other: str
    other_version: int
    same_definition: bool
    differences: tuple[TableDifference, ...]
    amounts: tuple[ComparedAmount, ...]
    bounds: tuple[ComparedBounds, ...]
    bounds_left_out: int
    rows: DifferingRowCounts | None
    steps: tuple[PlannedStep, ...] | None


OtherArgument = Annotated[
    str, typer.Argument(metavar="OTHER", help="The table to compare with, named as TABLE is.", show_default=False)
]


def compare(
    table: TableArgument,
    other: OtherArgument,
    *,
    version: Annotated[
        str | None,
        typer.Option(
            "--version",
            metavar="N",
            callback=checked_version,
            help="Version of TABLE, or a time, for example 'yesterday 18:00' (default: newest).",
        ),
    ] = None,
    other_version: Annotated[
        str | None,
        typer.Option(
            "--other-version",
            metavar="N",
            callback=checked_version,
            help="Version of OTHER, or a time (default: newest).",
        ),
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="Also compare all rows, through Spark.")] = False,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="Match rows by this column of TABLE; with --rows. Repeatable."),
    ] = None,
    intents: Annotated[
        bool, typer.Option("--intents", help="Also show the intents that would make OTHER like TABLE, each planned.")
    ] = False,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> None:
    """Compare two tables: schema, partitioning, properties, constraints, protocol, counts, sizes, and bounds.

    Only the logs are read, unless --rows is given: Spark then reads all rows of both tables. Columns are matched by
    name; a column that a copy of the table has renamed is found by its physical name. A value that is
    different in every table, such as its ID, is listed, but does not count as a difference.

    --intents changes nothing. Each intent is planned on OTHER as it is, without reading rows; commit them in this
    order, because a later one may need those before it.
    """
    if key and not rows:
        raise RequestError("--key matches rows. Add --rows to compare the rows.", field="key")
    use_spark(spark, spark_conf)
    with patience("Reading the logs"):
        one, two = open_named(table), open_named(other)
        first, second = (
            None if text is None else version_of(opened, text)
            for opened, text in ((one, version), (two, other_version))
        )
        comparison = one.compare(two, version=first, other_version=second)
        planned = tuple(_planned(two, _steps(one, two, comparison))) if intents else None
    preview = _rows(one, two, comparison, key or []) if rows else None
    if json:
        emit(_document(comparison, preview, planned))
    else:
        _print(comparison, preview, planned)


def _steps(one: explorer.Table, two: explorer.Table, comparison: TableComparison) -> tuple[AlignmentStep, ...]:
    from explorer.core.transaction.alignment import alignment

    return alignment(
        one.snapshot(comparison.first.version), two.snapshot(comparison.second.version), comparison.differences
    )


def _rows(one: explorer.Table, two: explorer.Table, comparison: TableComparison, keys: Sequence[str]) -> RowDiffPreview:
    from explorer.cli.row_output import waiting
    from explorer.spark.engine.session import require_pyspark

    require_pyspark()
    from explorer.spark.changes.table_rows import table_row_preview

    sides = (one, one.snapshot(comparison.first.version)), (two, two.snapshot(comparison.second.version))
    preview: RowDiffPreview = waiting(table_row_preview(*sides, keys, _ROWS_SHOWN))
    return preview


def _planned(table: explorer.Table, steps: Sequence[AlignmentStep]) -> Iterator[PlannedStep]:
    """Plan each step on the table as it is, without reading rows."""
    from explorer.core.transaction.intents.documents import intent_document

    for step in steps:
        if step.intent is None:
            yield PlannedStep(intent=None, answers=step.differences, plan=None, because=step.why_not)
            continue
        document = intent_document(step.intent)
        try:
            plan = table.plan(step.intent, check_rows=False)
        except ExplorerError as error:
            yield PlannedStep(intent=document, answers=step.differences, plan="refused", because=error.message)
            continue
        open_guards = [guard for guard in plan.guards if guard.status in {"fail", "unknown"}]
        because = " ".join(f"{guard.name}: {guard.evidence}" for guard in open_guards) or None
        status: Literal["committable", "guards"] = "committable" if plan.committable else "guards"
        yield PlannedStep(intent=document, answers=step.differences, plan=status, because=because)


def _document(
    comparison: TableComparison, preview: RowDiffPreview | None, steps: tuple[PlannedStep, ...] | None
) -> CompareDocument:
    return CompareDocument(
        table=comparison.first.table,
        version=comparison.first.version,
        other=comparison.second.table,
        other_version=comparison.second.version,
        same_definition=comparison.same_definition,
        differences=comparison.differences,
        amounts=tuple(
            ComparedAmount(name=pair.name, first=pair.first, second=pair.second) for pair in comparison.amounts
        ),
        bounds=tuple(
            ComparedBounds(
                column=pair.column, differs=pair.differs, first=_bounds(pair.first), second=_bounds(pair.second)
            )
            for pair in comparison.bounds
        ),
        bounds_left_out=comparison.bounds_left_out,
        rows=None if preview is None else _counts(preview),
        steps=steps,
    )


def _bounds(summary: ColumnSummary | None) -> ColumnBounds | None:
    return None if summary is None else ColumnBounds.of(summary)


def _counts(preview: RowDiffPreview) -> DifferingRowCounts:
    counts = preview.counts
    return DifferingRowCounts(
        keys=preview.keys,
        only_first=counts.deleted,
        only_second=counts.inserted,
        changed=counts.updated if preview.keys else None,
        repeated_keys=counts.rows_of_repeated_keys,
        left_out={column.column: column.reason for column in preview.left_out},
    )


def _print(comparison: TableComparison, preview: RowDiffPreview | None, steps: tuple[PlannedStep, ...] | None) -> None:
    first, second = (f"v{each.version} of {each.table}" for each in (comparison.first, comparison.second))
    console().print(f"{first} compared with {second}")
    listing(
        ["kind", "name", "differs in", "first", "second"],
        (
            (
                each.aspect,
                each.name,
                f"{each.what}{', its own' if each.own else ''}",
                *map(_value, (each.first, each.second)),
            )
            for each in comparison.differences
        ),
        "The two tables have the same definition.",
    )
    listing(
        ["amount", "first", "second"],
        (
            (pair.name, *(fmt.size(n) if pair.name == "bytes" else fmt.count(n) for n in (pair.first, pair.second)))
            for pair in comparison.amounts
        ),
        "",
        numbers=("first", "second"),
    )
    if comparison.differing_bounds:
        listing(
            ["column", "first", "second"],
            ((pair.column, _range(pair.first), _range(pair.second)) for pair in comparison.differing_bounds),
            "",
        )
    if preview is not None:
        _print_rows(preview)
    if steps is not None:
        _print_steps(steps)


def _print_rows(preview: RowDiffPreview) -> None:
    counts = _counts(preview)
    note(preview.note)
    listing(
        ["only in the first", "only in the second", "changed", "keys repeated"],
        [[*map(fmt.count, (counts.only_first, counts.only_second, counts.changed, counts.repeated_keys))]],
        "",
        numbers=("only in the first", "only in the second", "changed", "keys repeated"),
    )
    for column, why in counts.left_out.items():
        note(f"{column} is not compared: {why}.")


def _print_steps(steps: tuple[PlannedStep, ...]) -> None:
    listing(
        ["step", "intent", "plan", "because"],
        (
            (
                place,
                "none" if step.intent is None else encode(step.intent).decode(),
                step.plan or "none",
                step.because or "",
            )
            for place, step in enumerate(steps, 1)
        ),
        "Nothing has to change in the second table.",
    )


def _value(text: str | None) -> str:
    return "none" if text is None else fmt.value_text(text, _WIDEST)


def _range(summary: ColumnSummary | None) -> str:
    if summary is None or summary.min is None:
        return fmt.UNKNOWN
    nulls = fmt.count(summary.least_nulls) if summary.least_nulls == summary.most_nulls else fmt.UNKNOWN
    return f"{fmt.value_text(summary.min, _WIDEST)} to {fmt.value_text(summary.max, _WIDEST)}, {nulls} null"
