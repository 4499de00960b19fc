"""A column at a glance, in words: nulls and range by the log's statistics, and how sure both are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructType,
)
from explorer.core.protocol.statistics.column_summary import ColumnSummary

_LONG_AGO: Final = timedelta(days=2)
_LONGEST: Final = 24
_NO_RIGHT: Final = "not among your rights"
_FULL: Final = 200
_NO_RANGE: Final = frozenset({"binary", "variant", "void"})
_TIMES: Final = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class ColumnGlance:
    """A column by the log.

    Attributes:
        nulls: Its share of nulls: ``no nulls``, ``3 % null``, ``0 to 24 % null``, ``nulls unknown``.
        range: Least and greatest value, short: ``1 to 8``; or why there is none.
        note: What limits both: ``wide``, ``in 8 of 10 files``; empty where nothing does.
        basis: The same in sentences.
        min, max: The values in full; empty without them.
        null_count: The number of nulls, with what it is of.
        known: It has a least and a greatest value.
    """

    nulls: str
    range: str
    note: str = ""
    basis: str = ""
    min: str = ""
    max: str = ""
    null_count: str = ""
    known: bool = False

    def without_values(self) -> ColumnGlance:
        """Return what somebody may see of it who may not read rows: its bounds are values of rows."""
        return replace(self, range=_NO_RIGHT, min="", max="", known=False) if self.known else self


def glance_of(summary: ColumnSummary) -> ColumnGlance:
    """Return a column with statistics at a glance."""
    known = summary.min is not None and summary.max is not None
    return ColumnGlance(
        nulls=_nulls(summary),
        range=_range(summary),
        note=_note(summary),
        basis=" ".join(_basis(summary)),
        min=fmt.value_text(summary.min, _FULL) if known else "",
        max=fmt.value_text(summary.max, _FULL) if known else "",
        null_count=_null_count(summary),
        known=known,
    )


def glance_of_type(kind: DataType) -> ColumnGlance | None:
    """Return what is said of a column without statistics of its own; None of one that can have them."""
    match kind:
        case StructType():
            return ColumnGlance(
                "", fmt.plural(len(kind.fields), "field"), basis="Each field has statistics of its own."
            )
        case ArrayType() | MapType():
            what = "array" if isinstance(kind, ArrayType) else "map"
            return ColumnGlance("", f"{what}: no range", basis=f"The log has no range of the values in an {what}."
                                if what == "array" else "The log has no range of the values in a map.")  # fmt: skip
        case PrimitiveType(name="void"):
            return ColumnGlance("all null", "void: no range", basis="A void column has no value in any row.")
        case _:
            return None


def _nulls(summary: ColumnSummary) -> str:
    rows, least, most = summary.rows, summary.least_nulls, summary.most_nulls
    if not rows:
        return "nulls unknown" if summary.files else "no rows"
    if most == 0:
        return "no nulls"
    if least == rows:
        return "all null"
    if least == most:
        return f"{fmt.percent(least, rows)} null"
    return f"{fmt.percent(least, rows).removesuffix(' %')} to {fmt.percent(most, rows)} null"


def _null_count(summary: ColumnSummary) -> str:
    if not summary.rows:
        return fmt.UNKNOWN if summary.files else "no rows"
    least, most = fmt.count(summary.least_nulls), fmt.count(summary.most_nulls)
    count = least if least == most else f"{least} to {most}"
    return f"{count} of {fmt.plural(summary.rows, 'row')}"


def _range(summary: ColumnSummary) -> str:
    kind = summary.type
    if kind in _NO_RANGE:
        return f"{kind}: no range"
    if summary.min is None or summary.max is None:
        if not summary.files:
            return "no range"
        return "no value" if summary.files_bounded == summary.files else "range unknown"
    if summary.min == summary.max:
        return f"only {_short(summary.min, kind)}"
    low, high = _short(summary.min, kind), _short(summary.max, kind)
    if isinstance(summary.min, datetime) and isinstance(summary.max, datetime):
        if summary.max - summary.min > _LONG_AGO:
            low, high = low[:10], high[:10]
        low = low.removesuffix(" UTC")
    return f"{low} to {high}"


def _short(value: object, kind: str) -> str:
    if isinstance(value, datetime):
        return fmt.value_text(value.replace(microsecond=0), 40)
    if isinstance(value, str) and kind == "string":
        return fmt.shorten(value, _LONGEST) or "\u201c\u201d"
    return fmt.value_text(value, 40)


def _note(summary: ColumnSummary) -> str:
    parts = []
    known = summary.min is not None
    if known and not (summary.min_tight and summary.max_tight):
        parts.append("wide")
    if known and summary.files_bounded < summary.files:
        parts.append(f"in {fmt.count(summary.files_bounded)} of {fmt.plural(summary.files, 'file')}")
    elif summary.files_counted < summary.files and summary.rows:
        parts.append(f"counted in {fmt.count(summary.files_counted)} of {fmt.plural(summary.files, 'file')}")
    return ", ".join(parts)


def _basis(summary: ColumnSummary) -> Iterator[str]:
    if not summary.files:
        yield "No live file has a live row."
        return
    if summary.partition:
        yield "From the partition values of the files, which are exact."
    elif summary.files_bounded == summary.files:
        files = "the one file" if summary.files == 1 else f"all {fmt.plural(summary.files, 'file')}"
        yield f"From the statistics of {files}."
    elif summary.type in _NO_RANGE:
        yield f"Statistics have no minimum and maximum of type {summary.type}."
    elif not summary.files_bounded:
        yield f"None of {fmt.plural(summary.files, 'file')} has statistics of it."
    else:
        has = "has" if summary.files_bounded == 1 else "have"
        count = f"{fmt.count(summary.files_bounded)} of {fmt.plural(summary.files, 'file')}"
        yield f"Only {count} {has} statistics of it: rows of the others may be beyond the range."
    if summary.files_counted < summary.files:
        yield f"Nulls are counted in {fmt.count(summary.files_counted)} of {fmt.plural(summary.files, 'file')}."
    yield from _sureness(summary)


def _sureness(summary: ColumnSummary) -> Iterator[str]:
    if summary.min is not None and not summary.partition:
        if summary.min_tight and summary.max_tight:
            yield "Tight: live rows have both ends."
        else:
            which = "Minimum" if summary.max_tight else "Maximum" if summary.min_tight else "Both ends"
            are = "are" if which == "Both ends" else "is"
            yield f"{which} {are} wide: rows of that file are masked, so no live row need have the value."
    if summary.rows and summary.least_nulls != summary.most_nulls:
        yield "The exact number of nulls is unknown where statistics are wide."
    if summary.min is None or summary.partition:
        return
    if summary.type == "string":
        yield "Long strings may be cut."
    elif summary.type in _TIMES:
        yield "Times may be cut to milliseconds."
    elif summary.type in {"float", "double"}:
        yield "NaN is in no statistics."
