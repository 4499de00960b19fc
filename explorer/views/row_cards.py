"""What Spark found in the rows of a table in short: rules that rows break, columns, differences, the rows of a key.

Invariants: no card starts a job of Spark; PySpark is imported for none, as an object that has it is known already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from explorer import formatting as fmt
from explorer.auditing.words import span, spans
from explorer.core.transaction.row_engine import CheckReport, CheckResult
from explorer.core.versions.column_matching import UncomparedColumn
from explorer.views.card import MOST, Card, Rows, first_rows

if TYPE_CHECKING:
    from explorer.spark.changes.row_diff import RowDiff
    from explorer.spark.checks.column_profile import ColumnProfile, Profile, WrongStatistic
    from explorer.spark.rows.key_history import RowHistory

__all__ = ["check_card", "history_card", "profile_card", "row_diff_card"]

_COLUMNS = 6
_WIDTH = 60


def check_card(report: CheckReport) -> Card:
    """Return how many rows break each rule, those with any first."""
    results = sorted(report.predicates, key=lambda each: (not each.violations, each.error is None))
    broken = sum(bool(each.violations) for each in results)
    unchecked = sum(each.error is not None for each in results)
    summary = f"every row satisfies {fmt.plural(len(results), 'rule')}" if results else "no rule was checked"
    if broken or unchecked:
        summary = f"rows violate {fmt.count(broken)} of {fmt.plural(len(results), 'rule')}"
    title = f"v{report.version}: {summary}{f', {fmt.count(unchecked)} could not be checked' if unchecked else ''}"
    headings = ("rule", "must be true", "rows that violate it", "first place")
    rows = first_rows(headings, [_checked(each) for each in results]) if results else None
    return Card(title, rows=rows, tone="danger" if broken else "warning" if unchecked else "ok")


def profile_card(profile: Profile) -> Card:
    """Return the columns, and the statistics of the log that are wrong."""
    wrong = len(profile.findings)
    facts = [("incorrect statistics", fmt.count(wrong))] if wrong else []
    facts += [("for example", _wrong(each)) for each in profile.findings[:MOST]]
    headings = ("column", "type", "nulls", "different values", "least", "greatest")
    rows = first_rows(headings, [_column(each) for each in profile.columns]) if profile.columns else None
    title = f"v{profile.version}: {fmt.plural(profile.rows, 'row')}, {fmt.plural(len(profile.columns), 'column')}"
    return Card(title, tuple(facts), rows, "danger" if wrong else "ok")


def row_diff_card(diff: RowDiff) -> Card:
    """Return what is compared and what it costs; counting the rows is a job that a display does not start."""
    estimate = diff.estimate
    facts = (
        ("matched by", ", ".join(diff.keys) or "full rows"),
        ("columns compared", fmt.count(len(diff.schema.fields))),
        ("reads", f"{fmt.plural(estimate.files, 'file')}, {fmt.size(estimate.bytes)}"),
        *_left_out(diff.left_out),
        ("next step", "counts() counts the rows by kind, to_arrow() fetches them; both run on Spark"),
    )
    return Card(f"Rows that differ from v{diff.from_version} to v{diff.to_version}, not read yet", facts)


def history_card(history: RowHistory) -> Card:
    """Return when there was a row of the key, with which values."""
    spent = history.spans
    names = [field.name for field in spent.schema.field("row").type if field.name not in history.key]
    shown = names[:_COLUMNS]
    cells = tuple(
        (
            span(each["from_version"], each["to_version"]),
            fmt.count(each["copies"]),
            *(fmt.value_text(each["row"][name], _WIDTH) for name in shown),
        )
        for each in spent.slice(0, MOST).to_pylist()
    )
    more = len(names) - len(shown)
    facts = (
        ("without a row", spans(tuple(_without(history))) or "none"),
        ("read", f"{fmt.count(history.files_read)} of {fmt.plural(history.files_total, 'file')}"),
        *((("not shown", fmt.plural(more, "column")),) if more else ()),
        *_left_out(history.left_out),
    )
    key = ", ".join(f"{name} = {fmt.value_text(value, _WIDTH)}" for name, value in history.key.items())
    counted = fmt.plural(spent.num_rows, "span of versions", "spans of versions")
    title = f"{key}, {span(history.from_version, history.to_version)}: {counted}"
    rows = Rows(("versions", "rows", *shown), cells, spent.num_rows - len(cells)) if cells else None
    return Card(title, facts, rows)


def _checked(result: CheckResult) -> tuple[str, str, str, str]:
    if result.error is not None:
        return result.name, result.expression, f"not checked: {result.error}", ""
    number = f"{fmt.count(result.violations)} of {fmt.count(result.rows_checked)}"
    first = next(iter(result.files.slice(0, 1).to_pylist()), None)
    place = "" if first is None else f"row {fmt.count(first['first_row_index'])} of {first['path']}"
    return result.name, result.expression, number, place


def _column(profile: ColumnProfile) -> tuple[str, ...]:
    nulls = f"{fmt.count(profile.nulls)} ({fmt.percent(profile.nulls, profile.rows)})" if profile.nulls else "0"
    distinct = "" if profile.distinct is None else f"about {fmt.count(profile.distinct)}"
    bounds = ("" if bound is None else fmt.value_text(bound, _WIDTH) for bound in (profile.min, profile.max))
    return (profile.column, fmt.shorten(profile.type), nulls, distinct, *bounds)


def _wrong(statistic: WrongStatistic) -> str:
    column = "" if statistic.column is None else f" of {statistic.column}"
    logged, real = (fmt.value_text(value, _WIDTH) for value in (statistic.logged, statistic.found))
    return f"{statistic.path}: {statistic.statistic}{column} is {logged} in the log and {real} in the rows"


def _left_out(columns: Iterable[UncomparedColumn]) -> tuple[tuple[str, str], ...]:
    names = tuple(columns)
    facts = [("left out", f"{each.column}: {each.reason}") for each in names[:MOST]]
    more = len(names) - len(facts)
    return (*facts, ("left out", fmt.plural(more, "more column"))) if more > 0 else tuple(facts)


def _without(history: RowHistory) -> Iterator[tuple[int, int]]:
    """Return the versions of the range without a row of the key."""
    following = history.from_version
    firsts, lasts = (history.spans.column(name).to_pylist() for name in ("from_version", "to_version"))
    for first, last in zip(firsts, lasts, strict=True):
        if first > following:
            yield following, first - 1
        following = max(following, last + 1)
    if following <= history.to_version:
        yield following, history.to_version
