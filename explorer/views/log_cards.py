"""A table's log in short: its faults, how far retention reaches, and which files a condition reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.words import duration, runs, span, spans
from explorer.core.log.verify.integrity import IntegrityReport
from explorer.core.protocol.statistics.data_skipping import SkippingResult
from explorer.core.protocol.table_properties.registry import FILE_RETENTION
from explorer.core.protocol.times import span_milliseconds
from explorer.core.versions.commit_times import moment
from explorer.core.versions.retention.horizon import Horizon, WhatIf
from explorer.views.card import MOST, Card, Rows, first_rows, stated
from explorer.views.table.funnel import RULE_WORDS

__all__ = ["horizon_card", "integrity_card", "skipping_card", "what_if_card"]


def integrity_card(report: IntegrityReport) -> Card:
    """Return what verifying found, those faults first that keep versions from being read."""
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
    return Card(title, facts, Rows(("files", "from the log"), tuple(cells)) if cells else None)


def _of_vacuum(effect: WhatIf) -> Iterator[tuple[str, str]]:
    yield "versions lost", spans(effect.versions) or "none"
    yield "versions remaining", fmt.count(effect.kept)
    if effect.feed_kept or effect.feed_versions:
        yield "change feed lost", spans(effect.feed_versions) or "none"
        yield "change feed remaining", fmt.plural(effect.feed_kept, "version")
    unknown = f", of {fmt.plural(effect.sizes_unknown, 'more file')} unknown" if effect.sizes_unknown else ""
    freed = f"{fmt.plural(effect.files, 'file')}, {fmt.size(effect.bytes)}{unknown}"
    yield "files deleted", freed if effect.files else "none"


def _expiry(effect: WhatIf) -> Rows | None:
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
    return Rows(
        ("versions", f"VACUUM may delete them after {duration(effect.retention)} from"),
        tuple(cells),
        len(starts) - len(cells),
    )


def _orphans(horizon: Horizon) -> str:
    folder = horizon.scan
    if folder is None or not folder.orphans.num_rows:
        return ""
    return f"{fmt.plural(folder.orphans.num_rows, 'file')}, {fmt.size(folder.orphan_bytes)}"
