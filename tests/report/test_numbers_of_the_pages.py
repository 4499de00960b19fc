"""Every number of a report is on the pages of its table; what a commit did adds up to rows that others counted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer import formatting as fmt
from explorer.auditing.document import audit_document
from explorer.core.errors import ExplorerError
from explorer.core.protocol.actions import Protocol
from explorer.report import render
from explorer.report.case_file import CaseFile, CommitPin
from explorer.report.document import HistoryMark
from explorer.views import TableFacts
from explorer.views.table.commit_list import CommitChoice, chosen_commits
from explorer.views.table.overview import overview_of
from explorer.views.table.retention_curve import retention_curve
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import expected
from tests.support.dose import some_of
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, remove, vector, write_log
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.golden, pytest.mark.reference]

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
PLACES = {
    f"{root.name}/{path.parent.name}": path.parent
    for root in (golden_root(), reference_root())
    for path in sorted((root / "tables").glob("*/_delta_log"))
}
NAMED = (
    "reference/replace-where",
    "reference/deletion-vectors",
    "reference/checkpoint-no-stats",
    "golden/kernelrs__cdf-table-with-dv",
)
"""Tables on which a report and the pages differed once."""
COMPARED = {
    "version", "figures.files", "figures.rows", "figures.maskedRows", "figures.bytes", "figures.firstVersion",
    "history.first", "history.last", "history.width", "history.marks.first", "history.marks.last",
    "history.marks.added", "history.marks.removed", "history.marks.masked", "history.marks.unmasked",
    "history.marks.updated", "history.labels.version", "history.labels.amount", "history.states.first",
    "history.states.last", "retention.fileDays", "retention.logDays", "retention.readable", "retention.atRisk",
    "retention.gone", "retention.kept", "retention.files", "retention.bytes", "retention.steps.days",
    "retention.steps.versions", "retention.steps.bytes", "changes.version", "changesLeftOut", "log.firstVersion",
    "log.lastVersion", "findings.evidence.version", "findings.versions", "findings.files", "findings.rows",
    "findings.bytes", "findings.remedy.intent.version", "findings.remedy.intent.from", "findings.remedy.intent.to",
    "findings.remedy.intent.targetSize", "findings.remedy.intent.olderThan",
}  # fmt: skip
"""The numbers that a report of one table can hold; each is compared below."""
_FILES = re.compile(r"\+(?P<added>\d+) \u2212(?P<removed>\d+)(?: ~(?P<masked>\d+))?")


@cache
def _expected(root: Path) -> dict[str, dict[str, Any]]:
    return expected(root)


def _opened(place: Path) -> tuple[explorer.Table, dict[str, Any], TableFacts]:
    """The table, the document of its report, and its pages; a table that cannot be shown has neither."""
    table = explorer.open_table(str(place), read_only=True)
    try:
        facts = TableFacts(explorer.open_table(str(place), read_only=True), clock=lambda: NOW)
        facts.snapshot(facts.last).require_schema()
    except ExplorerError as error:
        pytest.skip(f"no page shows it: {type(error).__name__}")
    document: dict[str, Any] = json.loads(msgspec.json.encode(table.report(NOW)))
    return table, document, facts


def _numbers(value: object, name: str = "") -> Iterator[str]:
    """The names of the numbers of a document."""
    match value:
        case bool() | None | str():
            return
        case int() | float():
            yield name
        case dict():
            for key, item in value.items():
                yield from _numbers(item, f"{name}.{key}" if name else key)
        case list():
            for item in value:
                yield from _numbers(item, name)


@pytest.mark.parametrize("name", [*NAMED, *some_of([name for name in PLACES if name not in NAMED], 8)])
def test_every_number_of_a_report_is_on_the_pages_of_its_table(name: str) -> None:
    _, report, facts = _opened(PLACES[name])
    assert {*_numbers(report)} <= COMPARED, "a number that no page is compared with"
    _figures(report, facts)
    if report["history"] is None:
        assert facts.problem is not None or not len(facts.commits)
    else:
        _marks(report["history"], facts)
        _states(report["history"], facts)
    if report["retention"] is not None:
        _retention(report["retention"], facts)
    _changes(report, facts)
    assert (report["log"]["firstVersion"], report["log"]["lastVersion"]) == (facts.first, facts.last)
    _findings(report, facts)


def _figures(report: dict[str, Any], facts: TableFacts) -> None:
    shown, figures = overview_of(facts, facts.last), report["figures"]
    assert report["version"] == facts.last
    if figures is None:
        assert facts.problem is not None
        return
    rows, files, size, version = (figure.value for figure in shown.figures)
    assert (rows, files) == (fmt.count(figures["rows"]), fmt.count(figures["files"]))
    assert (size, version) == (fmt.size(figures["bytes"]), f"v{report['version']}")
    hidden = f"({fmt.count(figures['maskedRows'])} more masked)" in shown.verdict
    assert hidden == bool(figures["maskedRows"] and figures["files"])
    assert figures["firstVersion"] <= facts.first


def _marks(history: dict[str, Any], facts: TableFacts) -> None:
    """The marks against the list of commits, which is another page than the timeline."""
    listed = chosen_commits(facts, CommitChoice()).table.to_pylist()
    by_version = {row["version"]: row for row in listed}
    assert (history["first"], history["last"]) == (min(by_version), max(by_version))
    assert (history["unit"], history["width"]) == (facts.timeline(None, 124).unit, facts.timeline(None, 124).width)
    for mark in at_least_one(history["marks"]):
        rows = [by_version[v] for v in range(mark["first"], mark["last"] + 1) if v in by_version]
        assert _shown_of(mark) == _largest(rows, history["unit"]), mark
    for label in history["labels"]:
        row = by_version[label["version"]]
        shown = _amounts(row, history["unit"])
        assert -label["amount"] == shown["removed"] + shown["masked"] > 0


def _shown_of(mark: dict[str, Any]) -> dict[str, int]:
    whole = msgspec.convert(mark, HistoryMark)
    return {name: getattr(whole, name) for name in ("added", "removed", "masked", "unmasked", "updated")}


def _largest(rows: list[dict[str, Any]], unit: str) -> dict[str, int]:
    amounts = [_amounts(row, unit) for row in at_least_one(rows)]
    return {name: max(each[name] for each in amounts) for name in amounts[0]}


def _amounts(row: dict[str, Any], unit: str) -> dict[str, int]:
    """What a line of the list says of a commit."""
    if unit == "files":
        numbers = _FILES.fullmatch(row["files"])
        assert numbers is not None
        return {name: int(text or 0) for name, text in numbers.groupdict().items()} | {"unmasked": 0, "updated": 0}
    masked = row["rows_masked"] or 0
    return {
        "added": row["rows_added"] or 0,
        "removed": row["rows_removed"] or 0,
        "masked": max(masked, 0),
        "unmasked": max(-masked, 0),
        "updated": row["rows_updated"] or 0,
    }


def _states(history: dict[str, Any], facts: TableFacts) -> None:
    """The states against the lanes of the log and of the data: a version is lost or at risk if one of them says so."""
    log, data = facts.lanes()[:2]
    of_lane = [
        {version: span.state for span in lane.spans for version in range(span.first, span.last + 1)}
        for lane in (log, data)
    ]
    words = {"readable": "readable", "at risk": "at risk", "log gone": "gone", "data gone": "gone"}
    for state in at_least_one(history["states"]):
        for version in range(state["first"], state["last"] + 1):
            drawn = {lane[version] for lane in of_lane}
            worst = next(each for each in ("gone", "at risk", "readable") if each in drawn)
            assert worst == words[state["state"]], version


def _retention(retention: dict[str, Any], facts: TableFacts) -> None:
    own, horizon = retention_curve(facts).own, facts.horizon()
    assert (retention["kept"], own.days) == (own.kept, int(retention["fileDays"]))
    if retention["files"]:
        assert own.freed.startswith(fmt.size(retention["bytes"]))
    else:
        assert (own.freed, retention["bytes"]) == ("nothing", 0)
    for step in some_of(retention["steps"], 5):
        lost = horizon.what_if(round(timedelta(days=step["days"]) / timedelta(milliseconds=1)))
        assert (step["versions"], step["bytes"]) == (lost.kept, lost.bytes)
    counts = dict.fromkeys(("readable", "at risk", "data gone", "log gone"), 0)
    for span in facts.states().spans():
        counts[span.state] += span.last - span.first + 1
    gone = counts["data gone"] + counts["log gone"]
    assert (retention["readable"], retention["atRisk"], retention["gone"]) == (
        counts["readable"],
        counts["at risk"],
        gone,
    )


def _changes(report: dict[str, Any], facts: TableFacts) -> None:
    listed = {row["version"] for row in chosen_commits(facts, CommitChoice()).table.to_pylist()}
    assert {change["version"] for change in report["changes"] or ()} <= listed
    assert report["changesLeftOut"] == 0


def _findings(report: dict[str, Any], facts: TableFacts) -> None:
    """Those of the page are in the report as they are; it has more only of rules that the page has not answered."""
    audit = facts.audit()
    document = audit_document(audit, facts.location)
    open_rules = {each.id for each in document.not_answered}
    assert [each for each in report["findings"] if each["id"] not in open_rules] == json.loads(
        msgspec.json.encode([each for each in document.findings if each.id not in open_rules])
    )


@pytest.mark.parametrize("name", [*NAMED, *some_of([name for name in PLACES if name not in NAMED], 8)])
def test_what_commits_did_adds_up_to_the_rows_that_others_counted(name: str) -> None:
    place = PLACES[name]
    record = _expected(place.parents[1]).get(place.name)
    if record is None:
        pytest.skip("nobody else counted its rows")
    counted = {each["version"]: _row_count(each) for each in record["versions"]}
    _, report, _ = _opened(place)
    history = report["history"]
    if history is None or history["unit"] == "files" or history["width"] > 1:
        pytest.skip("its report counts no rows by version")
    for mark in history["marks"]:
        before, after = counted.get(mark["first"] - 1), counted.get(mark["first"])
        if before is None or after is None or mark["unknown"]:
            continue
        shown = _shown_of(mark)
        came, went = shown["added"] + shown["unmasked"], shown["removed"] + shown["masked"]
        assert after - before == came - went, mark


def _row_count(version: dict[str, Any]) -> int | None:
    if "row_count" in version:
        count: int | None = version["row_count"]
        return count
    rows = version.get("rows_expected") or {}
    return rows.get("row_count")


def test_rows_that_come_back_are_shown_again_and_not_lost(tmp_path: Path) -> None:
    named = ("deletionVectors",)
    protocol = Protocol(min_reader_version=3, min_writer_version=7, reader_features=named, writer_features=named)
    masked = add("a.parquet", 10, vector=vector("v", 7))
    commits = [
        [protocol, metadata({"id": "long"}), add("a.parquet", 10), add("b.parquet", 10)],
        [commit_info("DELETE"), remove("a.parquet"), masked],
        [commit_info("RESTORE"), remove("a.parquet", vector=vector("v", 7)), add("a.parquet", 10)],
    ]
    place = write_log(tmp_path / "t", commits)
    _, report, facts = _opened(place)
    marks = [_shown_of(mark) for mark in report["history"]["marks"]]
    none = dict.fromkeys(marks[0], 0)
    assert marks == [none | {"added": 20}, none | {"masked": 7}, none | {"unmasked": 7}]
    _marks(report["history"], facts)
    assert "v2: 7 rows shown again" in render(explorer.open_table(str(place)).report(NOW))


def test_a_pinned_commit_has_the_rows_of_its_page(tmp_path: Path) -> None:
    counted = {"numUpdatedRows": "2", "numCopiedRows": "7"}
    commits = [
        [PROTOCOL, metadata({"id": "long"}), add("a.parquet", 9)],
        [commit_info("UPDATE", operation_metrics=counted), remove("a.parquet"), add("b.parquet", 9)],
    ]
    place = write_log(tmp_path / "t", commits)
    case = CaseFile(title="The update", pins=(CommitPin(version=1),))
    report = explorer.open_table(str(place)).report(NOW, case=case)
    assert report.case is not None
    pinned = {fact.name: fact.text for fact in report.case.pins[0].facts}
    shown = TableFacts(explorer.open_table(str(place))).commits.record(1)
    assert shown is not None
    assert (shown.rows_added, shown.rows_removed, shown.rows_updated) == (0, 0, 2)
    assert (pinned["rows added"], pinned["rows removed"], pinned["rows updated"]) == ("0", "0", "2")
