"""The parts of a card (any public object in short), and the cards of results about a log and of Spark's results.

Invariants: a list is cut with the number of omitted rows; every text is as the table has it, and the code that draws a
card escapes it; no card starts a job of Spark or imports PySpark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.words import duration, runs, span, spans
from explorer.core.log.verify.integrity import IntegrityReport
from explorer.core.protocol.statistics.data_skipping import SkippingResult
from explorer.core.protocol.table_properties.registry import FILE_RETENTION
from explorer.core.protocol.times import span_milliseconds
from explorer.core.transaction.row_engine import CheckReport, CheckResult
from explorer.core.versions.column_matching import UncomparedColumn
from explorer.core.versions.commit_times import moment
from explorer.core.versions.retention.horizon import Horizon, WhatIf
from explorer.views.table.funnel import RULE_WORDS

if TYPE_CHECKING:
    from explorer.spark.changes.row_diff import RowDiff
    from explorer.spark.checks.column_profile import ColumnProfile, Profile, WrongStatistic
    from explorer.spark.rows.key_history import RowHistory

MOST: Final = 8
"""Rows that a card shows."""
TONES: Final = {"error": "danger", "warning": "warning", "info": "info"}
"""The tone of each severity of a finding."""
Facts: TypeAlias = tuple[tuple[str, str], ...]
"""Names and texts."""
_WIDEST: Final = 64


@dataclass(frozen=True, slots=True)
class CardRows:
    """A few rows: the headings, the cells as text, and how many rows are not among them."""

    headings: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Card:
    """An object in short.

    Attributes:
        title: What it is, in a line.
        facts: Names and texts.
        rows: A list, cut.
        tone: ``""``, ``ok``, ``info``, ``warning`` or ``danger``.
    """

    title: str
    facts: Facts = ()
    rows: CardRows | None = None
    tone: str = ""

    def plain(self) -> str:
        """Return the same as text for a terminal."""
        width = max((len(name) for name, _ in self.facts), default=0)
        lines = [fmt.plain(self.title), *(f"  {name:<{width}}  {fmt.plain(text)}" for name, text in self.facts)]
        if self.rows is not None:
            cells = [self.rows.headings, *([fmt.shorten(cell, _WIDEST) for cell in row] for row in self.rows.cells)]
            widths = [max(len(row[place]) for row in cells) for place in range(len(self.rows.headings))]
            lines += ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
            lines += [f"  and {self.rows.more:,} more"] if self.rows.more else []
        return "\n".join(lines)


def first_rows(headings: tuple[str, ...], cells: Sequence[tuple[str, ...]]) -> CardRows:
    """Return the first rows of a list, and how many are not among them."""
    return CardRows(headings, tuple(cells[:MOST]), max(len(cells) - MOST, 0))


def stated(facts: Iterable[tuple[str, str]]) -> Facts:
    """Return the facts that have a text."""
    return tuple(fact for fact in facts if fact[1])


def integrity_card(report: IntegrityReport) -> Card:
    """Return the result of verifying the log, those faults first that keep versions from being read."""
    problems = sorted(report.problems, key=lambda each: not each.breaking)
    breaking = sum(each.breaking for each in problems)
    kinds = Counter(each.kind for each in problems)
    cells = [
        (each.kind, "the log" if each.version is None else f"v{each.version}", each.file, each.detail)
        for each in problems
    ]
    facts = (
        ("oldest readable version", "none" if report.first_version is None else f"v{report.first_version}"),
        ("newest in the log", f"v{report.last_version}"),
        ("kinds", ", ".join(f"{kind} {fmt.count(number)}" for kind, number in kinds.items()) if cells[1:] else ""),
        ("chain head", report.chain_head or fmt.UNKNOWN),
    )
    verb = "keeps" if breaking == 1 else "keep"
    worse = f"; {fmt.count(breaking)} {verb} versions from being read" if breaking else ""
    title = f"{fmt.plural(len(problems), 'problem')} of the log{worse}" if problems else "No problems"
    tone = "danger" if breaking else "warning" if problems else "ok"
    rows = first_rows(("kind", "version", "file", "actual and expected"), cells) if cells else None
    return Card(title, stated(facts), rows, tone)


def horizon_card(horizon: Horizon) -> Card:
    """Return which versions can be read, and what a VACUUM with the table's own retention does."""
    versions, own, folder = horizon.versions, horizon.what_if(), horizon.scan
    total, deleted = len(versions.versions), versions.versions[versions.lost]
    readable = versions.versions[~versions.lost]
    facts = (
        ("readable", spans(runs(readable)) or "none"),
        ("already lost", spans(runs(deleted))),
        ("retention", f"{duration(horizon.retention)}, the table's own"),
        *_of_vacuum(own),
        ("orphaned", _orphans(horizon)),
        ("missing", fmt.plural(len(folder.missing), "file") if folder is not None and folder.missing else ""),
        ("basis", f"{'the log alone' if folder is None else 'log and folder'}, {fmt.moment(moment(horizon.now))}"),
    )
    title = f"{fmt.count(len(readable))} of {fmt.plural(total, 'version')} can be read, {fmt.count(own.kept)} after"
    # Deleting old versions is the purpose of VACUUM: it is not a warning.
    missing = folder is not None and bool(folder.missing)
    unusual = len(deleted) or missing or horizon.retention < span_milliseconds(FILE_RETENTION.of({}))
    return Card(f"{title} a VACUUM now", stated(facts), _expiry(own), "warning" if unusual else "")


def what_if_card(effect: WhatIf) -> Card:
    """Return what a VACUUM with a retention does."""
    title = f"A VACUUM now with a retention period of {duration(effect.retention)}"
    return Card(title, stated(_of_vacuum(effect)), _expiry(effect), "warning" if effect.versions else "ok")


def skipping_card(result: SkippingResult) -> Card:
    """Return how many files a condition reads, and by which rules."""
    counts = result.counts
    by_rule = {each["values"]: each["counts"] for each in result.files.column("rule").value_counts().to_pylist()}
    cells = [(fmt.plural(by_rule[rule], "file"), words) for rule, words in RULE_WORDS.items() if rule in by_rule]
    facts = (
        ("after partition values", fmt.plural(counts.after_partitions, "file")),
        ("after statistics", fmt.plural(counts.after_statistics, "file")),
        *(("skips no files", f"{part.text}: {part.reason}") for part in result.unsplittable[:MOST]),
    )
    title = f"{fmt.count(counts.after_statistics)} of {fmt.plural(counts.total, 'file')} must be read"
    return Card(title, facts, CardRows(("files", "from the log"), tuple(cells)) if cells else None)


def _of_vacuum(effect: WhatIf) -> Iterator[tuple[str, str]]:
    yield "versions lost", spans(effect.versions) or "none"
    yield "versions remaining", fmt.count(effect.kept)
    if effect.feed_kept or effect.feed_versions:
        yield "change feed lost", spans(effect.feed_versions) or "none"
        yield "change feed remaining", fmt.plural(effect.feed_kept, "version")
    unknown = f", of {fmt.plural(effect.sizes_unknown, 'more file')} unknown" if effect.sizes_unknown else ""
    freed = f"{fmt.plural(effect.files, 'file')}, {fmt.size(effect.bytes)}{unknown}"
    yield "files deleted", freed if effect.files else "none"


def _expiry(effect: WhatIf) -> CardRows | None:
    """Return the versions by their deletion dates; versions of the same second are joined."""
    known = effect.dates.filter(effect.dates.column("lost_from").is_valid())
    if not known.num_rows:
        return None
    versions = known.column("version").to_numpy()
    times = known.column("lost_from").to_numpy().astype("datetime64[s]").astype(np.int64)
    changes = np.flatnonzero((np.diff(times) != 0) | (np.diff(versions) != 1)) + 1
    starts, stops = np.append(0, changes), np.append(changes, len(versions))
    cells = [
        (span(int(versions[start]), int(versions[stop - 1])), fmt.timestamp(moment(1000 * int(times[start]))))
        for start, stop in zip(starts[:MOST], stops[:MOST], strict=True)
    ]
    return CardRows(
        ("versions", f"VACUUM may delete them after {duration(effect.retention)} from"),
        tuple(cells),
        len(starts) - len(cells),
    )


def _orphans(horizon: Horizon) -> str:
    folder = horizon.scan
    if folder is None or not folder.orphans.num_rows:
        return ""
    return f"{fmt.plural(folder.orphans.num_rows, 'file')}, {fmt.size(folder.orphan_bytes)}"


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
    headings = ("column", "type", "nulls", "different values", "minimum", "maximum")
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
    rows = CardRows(("versions", "rows", *shown), cells, spent.num_rows - len(cells)) if cells else None
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
