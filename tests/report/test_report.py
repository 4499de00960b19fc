"""A report: what it states, that its text follows from its data, and that a table's text stays text."""

import hashlib
import json
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import RequestError, TableNotFound
from explorer.report import TableReport, TablesReport, render, tables_report
from explorer.report.decoding import decode_report
from explorer.report.since import earlier_reports
from tests.support.comparison.audited_tables import DAY, NOW, ago, clean, loaded, written
from tests.support.logs import small_logs
from tests.support.logs.hostile_tables import HOSTILE, broken_table, empty_table, hostile_table
from tests.support.shared_tables import reference_root

FILES = "delta.deletedFileRetentionDuration"


class _Page(HTMLParser):
    """What a browser would make of a file: elements with their attributes, texts, and the data."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._inside = ""
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts.append(data)
        elif self._inside != "style":
            self.text += data


def _plain_digest(document: dict[str, Any]) -> str:
    """The digest as its definition says it, by the standard library."""
    rest = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _lost() -> explorer.Table:
    """A table that lost most of its rows yesterday."""
    went = [
        small_logs.commit_info("DELETE", user_name="ben"),
        small_logs.remove("0.parquet", deletion_timestamp=ago(DAY)),
    ]
    return written(loaded("0.parquet", 5_000), loaded("1.parquet", 700), went, properties={FILES: "interval 2 days"})


def test_the_digest_is_that_of_its_definition_and_covers_every_field() -> None:
    report = _lost().report(NOW, by="ana")
    document = msgspec.to_builtins(report)
    assert report.digest == _plain_digest(document)
    page = _Page(render(report))
    (data,) = page.scripts
    assert json.loads(data) == json.loads(msgspec.json.encode(report))
    for name, value in document.items():
        other = {**document, name: [value, "another"]}
        assert name == "digest" or _plain_digest(other) != report.digest


def test_the_verdict_is_one_sentence_with_its_deadline() -> None:
    report = _lost().report(NOW)
    sentence = "".join(phrase.text for phrase in report.sentence)
    assert (
        sentence
        == "Whole, but 5,000 rows fewer after one commit; its next step is possible until 23 Nov 2026 12:00 UTC."
    )
    assert (report.deadline, report.findings[0].subject) == ("2026-11-23T12:00:00+00:00", "v3")
    assert sentence in _Page(render(report)).text


def test_a_clean_table_says_what_looked_and_what_did_not() -> None:
    report = clean().report(NOW)
    text = _Page(render(report)).text
    assert "".join(phrase.text for phrase in report.sentence).startswith("Whole: ")
    assert "Not checked:" in text
    assert report.log is not None
    assert report.log.chain_head == clean().verify().chain_head
    assert {rule.id for rule in report.rules} == {*report.found_nothing, *(each.id for each in report.not_answered)}


def test_the_same_document_gives_the_same_text() -> None:
    report = _lost().report(NOW)
    assert render(report) == render(_decoded(msgspec.json.encode(report)))


def test_history_marks_add_up_to_the_commits() -> None:
    table = written(*(loaded(f"{n}.parquet", 10 * (n + 1)) for n in range(300)))
    history = table.report(NOW).history
    assert history is not None
    assert history.width > 1
    commits = table.history().to_pylist()
    for mark in history.marks:
        inside = [each for each in commits if mark.first <= each["version"] <= mark.last]
        assert mark.added == max(each["rows_added"] for each in inside)
    assert [mark.first for mark in history.marks[1:]] == [mark.last + 1 for mark in history.marks[:-1]]


@pytest.mark.reference
@pytest.mark.parametrize("name", ["change-feed", "deletion-vectors"])
def test_rows_that_the_reference_updated_are_marked_as_updated_alone(name: str) -> None:
    folder = reference_root() / "tables" / name
    report = explorer.open_table(folder).report()
    assert report.history is not None
    marks = {mark.first: mark for mark in report.history.marks}
    updated = 0
    for commit in sorted((folder / "_delta_log").glob("*.json")):
        infos = [
            line["commitInfo"] for line in map(json.loads, commit.read_text().splitlines()) if "commitInfo" in line
        ]
        if infos and infos[0]["operation"] == "UPDATE":
            mark = marks[int(commit.stem)]
            assert mark.updated == int(infos[0]["operationMetrics"]["numUpdatedRows"])
            assert (mark.added, mark.removed, mark.masked) == (0, 0, 0), commit.stem
            updated += 1
    assert updated
    page = _Page(render(report))
    assert "rows updated" in page.text
    assert [kind for kind, about in page.elements if about.get("class") == "updated"].count("rect") > updated


@pytest.mark.parametrize("days", [1, 3, 7, 30])
def test_the_retention_curve_is_what_the_table_says_under_that_retention(days: int) -> None:
    def made(kept: int) -> explorer.Table:
        commits = []
        for n in range(12):
            gone = (
                [small_logs.remove(f"{n - 1}.parquet", deletion_timestamp=ago((12 - n) * DAY + DAY // 2))] if n else []
            )
            commits.append([*loaded(f"{n}.parquet"), *gone])
        return written(*commits, properties={FILES: f"interval {kept} days"})

    curve = made(5).report(NOW).retention
    same = made(days).report(NOW).retention
    assert curve is not None
    assert same is not None
    assert max(step.versions for step in curve.steps if step.days <= days) == same.readable == same.kept


def test_a_listed_folder_is_in_the_report(tmp_path: Path) -> None:
    table = explorer.open_table(empty_table(tmp_path / "table"))
    (tmp_path / "table" / "orphan.parquet").write_bytes(b"0123456789")
    report = table.report(NOW + timedelta(days=400), check_files=True)
    assert report.retention is not None
    assert (report.retention.basis, report.retention.files, report.retention.bytes) == ("folder", 1, 10)
    assert report.basis == "log, files and replay"
    assert "missing-files" in report.found_nothing


def test_a_deadline_that_has_passed_is_no_deadline() -> None:
    report = _lost().report(NOW + timedelta(days=2))
    assert report.deadline is None
    said = "; its next step may fail at any time since 23 Nov 2026 12:00 UTC."
    assert "".join(phrase.text for phrase in report.sentence).endswith(said)


def test_a_log_of_a_checkpoint_alone_has_a_report() -> None:
    table = clean()
    table.commit(table.plan({"kind": "checkpoint"}))
    table.store.delete_many([path.path for path in table.listing.commits.values()])
    report = explorer.Table(table.store).report(NOW)
    assert [each.part for each in report.missing] == ["history"]
    assert (report.figures and report.figures.rows, report.history) == (3_000, None)
    assert "Some of it could not be read" in _Page(render(report)).text


def test_a_table_that_cannot_be_read_has_a_report_that_says_why(tmp_path: Path) -> None:
    report = explorer.open_table(broken_table(tmp_path / "broken")).report(NOW)
    assert (report.history, report.clients, report.figures) == (None, None, None)
    assert {each.part for each in report.missing} >= {"history", "client compatibility", "key figures"}
    text = _Page(render(report)).text
    assert "Damaged: " in text
    assert "00000000000000000002.json" in text


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    table = explorer.open_table(hostile_table(tmp_path / "hostile"))
    report = table.report(NOW, by=HOSTILE)
    html = render(report)
    page = _Page(html)
    assert "\u202e" not in html
    assert {tag for tag, _ in page.elements} & {"img", "iframe", "object", "link", "form", "input", "base"} == set()
    assert [result for tag, result in page.elements if tag == "script"] == [{"type": "application/json", "id": "audit"}]
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcdoc", "style")]
        assert (attributes.get("href") or "#").startswith("#")
    assert '<img src=x onerror="window.hacked=1">' in page.text
    policy = next(result["content"] for tag, result in page.elements if result.get("http-equiv"))
    assert (policy or "").startswith("default-src 'none'; style-src 'sha256-")


def test_who_changed_what_is_told_by_commit() -> None:
    described = small_logs.metadata({"id": "long", "day": "string", "more": "long"}, (), {"custom": "1"})
    said = small_logs.commit_info("SET TBLPROPERTIES", user_name="ana", user_metadata="asked by finance")
    report = written(loaded("0.parquet"), [said, described]).report(NOW)
    assert report.changes is not None
    newest, created = report.changes
    assert (newest.version, newest.user, newest.reason) == (2, "ana", "asked by finance")
    assert newest.changes == ("column more added, long", "custom = 1")
    assert created.changes == ("created, protocol 1, 2",)


def test_the_clients_in_use_come_first_with_what_is_known_of_them(tmp_path: Path) -> None:
    mine = tmp_path / "clients.toml"
    mine.write_text(
        '[[client]]\nname = "Trino"\nversion = "2024-08"\nrole = "reader"\nowner = "finance"\nnote = "<b>monthly</b>"\n'
    )
    report = _lost().report(NOW, clients=mine)
    assert report.clients is not None
    first, *others = report.clients
    assert (first.client, first.in_use, first.seen, first.owner) == ("Trino", True, False, "finance")
    assert "Trino" not in [client.client for client in others]
    assert "finance: <b>monthly</b>" in _Page(render(report)).text


def test_what_is_new_gone_and_unchanged_since_an_earlier_report() -> None:
    before, after = _lost(), _lost_twice()
    earlier = before.report(NOW)
    for written_ in (render(earlier).encode(), msgspec.json.encode(earlier) + b"\n"):
        result = after.report(NOW, since=earlier_reports(written_, "earlier")).since
        assert result is not None
        assert [(line.id, line.subject) for line in result.new] == [("feed-hole", "v2")]
        assert (result.unchanged[0].id, result.unchanged[0].subject) == ("bulk-loss", "v3")
        assert (result.gone, result.versions, result.version, result.went_back) == ((), 1, 3, False)
    back = before.report(NOW, since=earlier_reports(render(after.report(NOW)).encode(), "later")).since
    assert back is not None
    assert [line.id for line in back.gone] == ["feed-hole"]
    assert back.went_back


def _lost_twice() -> explorer.Table:
    """The same table with one more commit, and a feed that was on at first."""
    went = [
        small_logs.commit_info("DELETE", user_name="ben"),
        small_logs.remove("0.parquet", deletion_timestamp=ago(DAY)),
    ]
    properties = {FILES: "interval 2 days"}
    on = small_logs.metadata({"id": "long"}, (), {**properties, "delta.enableChangeDataFeed": "true"})
    off = small_logs.metadata({"id": "long"}, (), properties)
    return written(
        [*loaded("0.parquet", 5_000), on], [*loaded("1.parquet", 700), off], went, loaded("2.parquet", 800),
        properties=properties,
    )  # fmt: skip


def test_an_earlier_report_that_is_none_or_was_changed_or_is_of_another_table_is_refused() -> None:
    report = _lost().report(NOW)
    with pytest.raises(RequestError, match="is not a report"):
        earlier_reports(b"{", "this")
    with pytest.raises(RequestError, match="changed after it was written"):
        earlier_reports(msgspec.json.encode(report).replace(b"5,000 rows", b"5,001 rows"), "this")
    with pytest.raises(RequestError, match="no document"):
        earlier_reports(b"<!doctype html><html></html>", "this")
    other = msgspec.structs.replace(report, table="elsewhere", table_id="another", digest="")
    sealed = msgspec.structs.replace(other, digest=_plain_digest(msgspec.to_builtins(other)))
    with pytest.raises(RequestError, match="is of elsewhere, not of"):
        _lost().report(NOW, since=earlier_reports(msgspec.json.encode(sealed), "this"))


def test_many_tables_are_ranked_and_those_that_could_not_be_read_are_named() -> None:
    reports = [clean().report(NOW, one_of_many=True), _lost().report(NOW, one_of_many=True)]
    missing = TableNotFound("There is no <b>table</b>.")
    whole = tables_report(reports, [("gone", missing)], NOW, "warehouse", by="ana")
    assert isinstance(whole, TablesReport)
    assert [len(table.findings) > 0 for table in whole.tables] == [True, False]
    assert whole.digest == _plain_digest(msgspec.to_builtins(whole))
    text = _Page(render(whole)).text
    assert "There is no <b>table</b>." in text
    assert text.count("Findings") == 2


def test_a_table_of_many_names_the_rules_that_found_nothing_in_one_line() -> None:
    alone, beside = _lost().report(NOW), _lost().report(NOW, one_of_many=True)
    pages = [render(alone), render(tables_report([beside], [], NOW, "warehouse"))]
    rows = [page[page.index('<table class="rules">') :].split("</table>", 1)[0].count("<tr>") for page in pages]
    assert rows[0] - rows[1] == len(alone.found_nothing) > 20
    titles = {rule.id: rule.title for rule in beside.rules}
    text = _Page(pages[1]).text
    assert [rule for rule in beside.found_nothing if titles[rule] not in text] == []


def test_a_table_of_many_has_a_line_only_for_clients_that_cannot_do_all() -> None:
    alone, beside = _lost().report(NOW), _lost().report(NOW, one_of_many=True)
    pages = [render(alone), render(tables_report([beside], [], NOW, "warehouse"))]
    rows = [page[page.index('<table class="matrix whole">') :].split("</table>", 1)[0].count("<tr>") for page in pages]
    whole = [client for client in beside.clients or () if (client.read, client.write) == ("yes", "yes")]
    assert 0 < len(whole) < len(beside.clients or ())
    assert [row - 1 for row in rows] == [len(alone.clients or ()), len(beside.clients or ()) - len(whole)]
    assert ", ".join(dict.fromkeys(client.client for client in whole)) in _Page(pages[1]).text
    assert (pages[0].count("All clients"), pages[1].count("Clients with limited access")) == (1, 1)


def test_a_document_of_another_form_is_refused() -> None:
    report = json.loads(msgspec.json.encode(_lost().report(NOW)))
    for changed in ({**report, "more": 1}, {**report, "version": "3"}, {**report, "format": "delta-explorer-report/9"}):
        with pytest.raises(RequestError):
            decode_report(json.dumps(changed))


def _decoded(data: bytes) -> TableReport:
    report = decode_report(data)
    assert isinstance(report, TableReport)
    return report
