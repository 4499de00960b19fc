"""Each rule fires on a table that shows what it looks for, and is silent on a clean one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.auditing import Audit, Finding, Subject, audit
from explorer.auditing.finding import Place
from explorer.auditing.rules import RULES
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.intents.records import Checkpoint, Purge, Restore, SetProperties
from tests.support.comparison.audited_tables import DAY, HOUR, NOW, ago, clean, loaded, written
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.rule_findings import finding_of, is_silent
from tests.support.shared_tables import reference_root

FEED, FILES, LOG = "delta.enableChangeDataFeed", "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"


def _audit(table: explorer.Table, **more: Any) -> Audit:
    return audit(Subject(table, NOW, **more))


def _found(table: explorer.Table, rule: str, **more: Any) -> Finding:
    return finding_of(_audit(table, **more), rule)


def _silent(table: explorer.Table, rule: str, **more: Any) -> bool:
    return is_silent(_audit(table, **more), rule)


def _said(finding: Finding) -> str:
    return " ".join([finding.title, *(piece.text for piece in finding.evidence), finding.effect])


def _removed(name: str, before: int, **more: Any) -> Any:
    return small_logs.remove(name, deletion_timestamp=ago(before), **more)


def _info(operation: str, **more: Any) -> Any:
    return small_logs.commit_info(operation, user_name="ben", **more)


# What no log answers: it takes a listing, a replay, rows, footers, or a chain head saved earlier.
ASKED = {
    *("missing-files", "resized-files", "orphan-files"),
    *("checkpoint-differs", "checksum-differs", "log-faults", "metrics-differ"),
    *("tampered-log", "broken-rules", "wrong-statistics"),
}


def test_a_clean_table_has_no_finding_and_only_those_questions_open_that_the_log_cannot_answer() -> None:
    found = _audit(clean())
    assert found.findings == ()
    assert {result.rule.id for result in found.not_answered} == ASKED
    assert len(found.silent) == len(RULES) - len(ASKED)


# --- the log itself


def test_a_log_that_cannot_be_read_is_an_error_that_says_where() -> None:
    finding = _found(written(loaded("0.parquet"), [b'{"add":{"path":']), "unreadable-log")
    assert (finding.severity, finding.versions) == ("error", ((2, 2),))
    assert "00000000000000000002.json" in _said(finding)
    assert _silent(clean(), "unreadable-log")


# --- rows


def _half_deleted(*later: Any) -> explorer.Table:
    gone = [_info("DELETE"), _removed("1.parquet", HOUR)]
    return written(loaded("0.parquet"), loaded("1.parquet"), gone, *later)


def test_rows_that_went_are_a_warning_with_the_version_to_restore_and_until_when() -> None:
    finding = _found(_half_deleted(loaded("2.parquet", 10)), "bulk-loss")
    assert (finding.severity, finding.rows, finding.versions) == ("warning", 1_000, ((3, 3),))
    assert "v3 DELETE by ben" in _said(finding)
    assert "50 %" in _said(finding)
    assert finding.remedy is not None
    assert finding.remedy.intent == Restore(version=2)
    assert finding.deadline == ago(HOUR) + 7 * DAY
    assert "29 Nov 2026" in finding.effect


def test_rows_that_were_restored_are_a_note() -> None:
    back = [_info("RESTORE"), small_logs.add("1.parquet", 1_000, size=500_000_000)]
    finding = _found(_half_deleted(back), "bulk-loss")
    assert (finding.severity, finding.versions) == ("info", ((3, 3),))
    assert finding.title == "1,000 rows fewer after one commit, and restored"


def test_rows_whose_version_was_vacuumed_are_a_note_that_leads_to_the_commit() -> None:
    gone = [_info("DELETE"), _removed("1.parquet", 30 * DAY)]
    finding = _found(written(loaded("0.parquet"), loaded("1.parquet"), gone, *_vacuumed()), "bulk-loss")
    assert (finding.severity, finding.remedy.place) == ("info", Place("commit", 3))
    assert "data gone" in finding.effect


@pytest.mark.parametrize(
    "later",
    [
        pytest.param([[_info("WRITE"), small_logs.add("2.parquet", 1_000)]], id="loaded again"),
        pytest.param([], id="few rows"),
    ],
)
def test_a_reload_and_a_small_delete_are_no_loss(later: list[Any]) -> None:
    if later:
        table = _half_deleted(*later)
    else:
        gone = [_info("DELETE"), _removed("1.parquet", HOUR)]
        table = written(loaded("0.parquet", 1_000), loaded("1.parquet", 150), gone)
    assert _silent(table, "bulk-loss")


def test_a_rewrite_is_no_loss() -> None:
    rewritten = [
        _info("OPTIMIZE"),
        *(_removed(f"{n}.parquet", HOUR, data_change=False) for n in range(2)),
        small_logs.add("all.parquet", 2_000, size=900_000_000, data_change=False),
    ]
    assert _silent(written(loaded("0.parquet"), loaded("1.parquet"), rewritten), "bulk-loss")


# --- columns and clients


def _mapped(*names: tuple[str, str]) -> Any:
    fields = [
        {
            "name": name,
            "type": "string",
            "nullable": True,
            "metadata": {"delta.columnMapping.id": place, "delta.columnMapping.physicalName": stored},
        }
        for place, (name, stored) in enumerate(names, 1)
    ]
    schema = msgspec.json.encode({"type": "struct", "fields": fields}).decode()
    configuration = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
    return msgspec.structs.replace(small_logs.METADATA, schema_string=schema, configuration=configuration)


def _renamed(*schemas: tuple[tuple[str, str], ...], engine: str = "Apache-Spark/4.0") -> explorer.Table:
    protocol = Protocol(min_reader_version=2, min_writer_version=5)
    first = [small_logs.commit_info("CREATE TABLE", engine_info=engine), protocol, _mapped(*schemas[0])]
    renames = [[_info("RENAME COLUMN"), _mapped(*schema)] for schema in schemas[1:]]
    return small_logs.table(dict(enumerate([first, *renames])))


def test_names_that_were_swapped_are_a_warning_that_leads_to_the_columns() -> None:
    table = _renamed((("a", "p1"), ("b", "p2")), (("b", "p1"), ("a", "p2")))
    finding = _found(table, "name-hazard")
    assert (finding.severity, finding.label, finding.versions) == ("warning", "names swapped, v1", ((1, 1),))
    assert finding.remedy is not None
    assert finding.remedy.place is not None
    assert (finding.remedy.place.aspect, finding.remedy.place.version) == ("columns", 1)


def test_a_name_that_stays_with_its_column_is_no_hazard() -> None:
    assert _silent(_renamed((("a", "p1"),), (("b", "p1"),)), "name-hazard")


def test_clients_that_answer_wrongly_are_a_note_and_a_warning_once_they_have_written_the_table() -> None:
    schemas = ((("a", "p1"),), (("b", "p1"),))
    note = _found(_renamed(*schemas), "wrong-answers")
    assert note.severity == "info"
    assert "columnMapping" in _said(note)
    warning = _found(_renamed(*schemas, engine="ClickHouse 25.1"), "wrong-answers")
    assert warning.severity == "warning"
    assert "ClickHouse" in _said(warning)


def test_clients_that_refuse_are_a_note_with_the_feature_that_they_lack() -> None:
    finding = _found(_renamed((("a", "p1"),)), "refusing-clients")
    assert (finding.severity, "columnMapping" in _said(finding)) == ("info", True)


def test_clients_that_refuse_for_the_reader_version_count_and_so_does_every_other_that_refuses() -> None:
    table = written(loaded("0.parquet"), protocol=small_logs.MASKED)
    refusing = [client for client in Subject(table, NOW).clients if client.read == "no"]
    assert [client.client for client in refusing if client.because == ("minReaderVersion 3",)]
    others = [
        client for client in refusing if not {"minReaderVersion 3", "deletionVectors"}.intersection(client.because)
    ]
    finding = _found(table, "refusing-clients")
    assert finding.title.startswith(f"{len(refusing)} clients, ")  # as many as the list of clients beside it has
    assert f", {len(others)} for other reasons" in _said(finding)
    assert len(others) > 0


def test_a_raised_protocol_names_the_commit_what_was_before_and_what_is_new() -> None:
    upgrade = [_info("UPGRADE PROTOCOL"), small_logs.MASKED]
    finding = _found(written(loaded("0.parquet"), upgrade), "protocol-raised")
    assert finding.title == "v2 raised the protocol to reader 3, writer 7, with deletionVectors"
    assert "before: reader 1, writer 2" in _said(finding)


def test_a_protocol_that_is_written_again_is_no_raise() -> None:
    again = [_info("CREATE OR REPLACE TABLE"), small_logs.PROTOCOL]
    assert _silent(written(loaded("0.parquet"), again), "protocol-raised")


# --- the log


def _checkpointed(store: LogStore) -> None:
    """Write versions 0 to 5, with a checkpoint at 4."""
    adds = [small_logs.add(f"{n}.parquet") for n in range(1, 6)]
    small_logs.write(store, dict(enumerate([[small_logs.PROTOCOL, small_logs.METADATA], *([add] for add in adds)])))
    write_checkpoint(store, 4, [small_logs.PROTOCOL, small_logs.METADATA, *adds[:4]], "classic")


def test_a_hole_in_the_log_is_a_warning_with_the_missing_versions() -> None:
    store = small_logs.new_store()
    _checkpointed(store)
    store.delete(commit_name(2))
    finding = _found(explorer.Table(store), "log-hole")
    assert (finding.severity, finding.versions) == ("warning", ((2, 2),))
    assert "v4" in _said(finding)


def test_history_that_was_cleaned_is_a_note_with_the_oldest_version_that_is_left() -> None:
    store = small_logs.new_store()
    _checkpointed(store)
    for version in range(4):
        store.delete(commit_name(version))
    finding = _found(explorer.Table(store), "history-cleaned")
    assert (finding.severity, finding.versions) == ("info", ((0, 3),))
    assert finding.effect == "The oldest readable version is v4."


def test_a_checkpoint_is_overdue_after_three_intervals() -> None:
    def of(commits: int, interval: str) -> explorer.Table:
        properties = {"delta.checkpointInterval": interval}
        return written(*(loaded(f"{n}.parquet") for n in range(commits)), properties=properties)

    finding = _found(of(40, "10"), "checkpoint-overdue")
    assert (finding.severity, finding.files) == ("warning", 41)
    assert finding.remedy is not None
    assert finding.remedy.intent == Checkpoint()
    assert _silent(of(40, "100"), "checkpoint-overdue")


def test_a_table_that_is_checkpointed_every_thirty_commits_is_not_overdue_after_forty() -> None:
    store = small_logs.new_store()
    adds = [small_logs.add(f"{n}.parquet") for n in range(1, 101)]
    small_logs.write(store, dict(enumerate([[small_logs.PROTOCOL, small_logs.METADATA], *([add] for add in adds)])))
    for version in (30, 60):
        write_checkpoint(store, version, [small_logs.PROTOCOL, small_logs.METADATA, *adds[:version]], "classic")
    assert _silent(explorer.Table(store), "checkpoint-overdue")


# --- the change feed


def _feed(on: bool) -> Any:
    described = small_logs.metadata({"id": "long", "day": "string"}, (), {FEED: str(on).lower()})
    return [_info("SET TBLPROPERTIES"), described]


def test_a_hole_in_the_feed_names_its_versions_and_its_rows() -> None:
    table = written(_feed(on=True), loaded("0.parquet"), _feed(on=False), loaded("1.parquet", 70), _feed(on=True))
    finding = _found(table, "feed-hole")
    assert (finding.severity, finding.versions, finding.rows) == ("warning", ((3, 4),), 70)
    assert finding.remedy is not None
    assert finding.remedy.place is not None
    assert (finding.remedy.place.aspect, finding.remedy.place.version) == ("changes", 4)


def test_rows_that_were_masked_while_the_feed_was_off_are_not_in_it() -> None:
    masked = [
        _info("DELETE"),
        small_logs.remove("0.parquet"),
        small_logs.add("0.parquet", 1_000, vector=small_logs.vector("a", 40)),
    ]
    table = written(_feed(on=True), loaded("0.parquet"), _feed(on=False), masked, _feed(on=True))
    finding = _found(table, "feed-hole")
    assert (finding.versions, finding.rows) == (((3, 4),), 40)
    assert "1 commit, 40 changes of rows, not in it" in _said(finding)


def test_a_feed_that_is_off_can_be_switched_on() -> None:
    finding = _found(written(_feed(on=True), loaded("0.parquet"), _feed(on=False), loaded("1.parquet")), "feed-hole")
    assert finding.label == "feed off since v3"
    assert finding.remedy is not None
    assert finding.remedy.intent == SetProperties(properties={FEED: "true"})


@pytest.mark.parametrize(
    "commits",
    [
        pytest.param([loaded("0.parquet"), _feed(on=True), loaded("1.parquet")], id="on from some version"),
        pytest.param([_feed(on=True), loaded("0.parquet"), _feed(on=False)], id="off, and nothing changed since"),
    ],
)
def test_a_feed_without_missed_rows_has_no_hole(commits: list[Any]) -> None:
    assert _silent(written(*commits), "feed-hole")


# --- retention


def _vacuumed(status: str = "COMPLETED") -> list[Any]:
    """The commits of a VACUUM that was begun now."""
    start = _info("VACUUM START", timestamp=ago(0), operation_parameters={"defaultRetentionMillis": str(7 * DAY)})
    return [[start], [_info("VACUUM END", operation_parameters={"status": status})]]


def _rewritten(before: int, *later: Any, **more: Any) -> explorer.Table:
    replaced = [_info("WRITE"), _removed("0.parquet", before), small_logs.add("1.parquet", 1_000, size=500_000_000)]
    return written(loaded("0.parquet"), replaced, *later, **more)


def test_a_vacuum_took_nothing_that_was_removed_after_it() -> None:
    gone = [_info("DELETE"), _removed("0.parquet", 8 * DAY)]
    copied = written(loaded("0.parquet"), *_vacuumed(), gone)
    assert _silent(copied, "versions-gone"), "its commit times are those of the copy"


def _replaced(before: int, *, feed: bool) -> explorer.Table:
    """v2 loads a file while the change feed is on, v3 replaces it."""
    later = [_info("WRITE"), _removed("0.parquet", before), small_logs.add("1.parquet", 1_000, size=500_000_000)]
    return written(
        _feed(on=feed), loaded("0.parquet"), later, protocol=Protocol(min_reader_version=1, min_writer_version=4)
    )


def test_changes_whose_files_a_vacuum_takes_before_the_log_goes_are_a_note_for_followers_of_the_feed() -> None:
    finding = _found(_replaced(8 * DAY, feed=True), "feed-reach")
    assert (finding.severity, finding.versions) == ("info", ((2, 3),))
    assert "can be vacuumed now" in finding.title
    assert finding.remedy is not None
    assert finding.remedy.intent == SetProperties(properties={FILES: "interval 30 days"})


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(lambda: _replaced(HOUR, feed=True), id="kept for longer"),
        pytest.param(lambda: _replaced(8 * DAY, feed=False), id="no feed"),
        pytest.param(lambda: written(_feed(on=True), loaded("0.parquet")), id="nothing was removed"),
    ],
)
def test_changes_that_last_are_no_finding(table: Any) -> None:
    assert _silent(table(), "feed-reach")


def test_versions_that_a_vacuum_takes_now_are_named_with_their_files_and_the_basis() -> None:
    finding = _found(_rewritten(8 * DAY), "versions-at-risk")
    assert (finding.severity, finding.versions, finding.files, finding.size) == ("info", ((1, 1),), 1, 500_000_000)
    assert "According to the log" in finding.effect
    assert finding.remedy is not None
    assert finding.remedy.intent == SetProperties(properties={FILES: "interval 30 days"})


def test_versions_that_die_within_two_days_have_a_deadline() -> None:
    finding = _found(_rewritten(6 * DAY), "versions-at-risk")
    assert finding.deadline == ago(-DAY)
    assert "23 Nov 2026" in finding.title


def test_versions_that_stay_for_days_are_no_finding() -> None:
    assert _silent(_rewritten(HOUR), "versions-at-risk")


def test_versions_that_a_recorded_vacuum_took_are_gone_and_not_at_risk() -> None:
    table = _rewritten(30 * DAY, *_vacuumed())
    finding = _found(table, "versions-gone")
    assert (finding.versions, finding.severity) == (((1, 1),), "info")
    assert "the files were not checked" in _said(finding)
    assert _silent(table, "versions-at-risk")


def test_a_vacuum_that_failed_took_nothing_for_certain() -> None:
    table = _rewritten(30 * DAY, *_vacuumed("FAILED"))
    assert _silent(table, "versions-gone")
    assert _found(table, "versions-at-risk").versions == ((1, 1),)


def test_a_look_at_the_files_decides_over_the_record_of_a_vacuum() -> None:
    table = _rewritten(30 * DAY, *_vacuumed())
    assert _silent(table, "versions-gone", missing=frozenset())
    gone = _found(table, "versions-gone", missing=frozenset({"0.parquet"}))
    assert "were checked" in _said(gone)


def test_a_live_file_that_is_gone_is_wrong_and_the_question_is_open_until_somebody_looks() -> None:
    finding = _found(clean(), "missing-files", missing=frozenset({"1.parquet"}))
    assert (finding.severity, finding.files) == ("error", 1)
    assert "1.parquet" in _said(finding)
    assert _silent(clean(), "missing-files", missing=frozenset())


def test_short_file_retention_is_a_warning() -> None:
    finding = _found(written(loaded("0.parquet"), properties={FILES: "interval 2 days"}), "short-retention")
    assert (finding.severity, finding.label) == ("warning", "files kept 2 days")
    assert finding.remedy is not None
    assert finding.remedy.intent == SetProperties(properties={FILES: "interval 7 days"})


def test_retention_that_a_commit_shortened_names_the_commit_and_what_was_before() -> None:
    shorter = [_info("RESTORE"), small_logs.metadata({"id": "long", "day": "string"})]
    table = written(loaded("0.parquet"), shorter, properties={FILES: "interval 21 days"})
    finding = _found(table, "short-retention")
    assert finding.title == "File retention fell from 21 days to 7 days"
    assert "v2 RESTORE by ben" in _said(finding)
    assert finding.remedy is not None
    assert finding.remedy.intent == SetProperties(properties={FILES: "interval 21 days"})


def test_longer_retention_is_no_finding() -> None:
    assert _silent(written(loaded("0.parquet"), properties={FILES: "interval 21 days"}), "short-retention")


def test_a_log_that_is_kept_for_less_long_than_the_files_is_a_warning() -> None:
    finding = _found(written(properties={FILES: "interval 30 days", LOG: "interval 10 days"}), "short-log-retention")
    assert finding.remedy is not None
    assert finding.remedy.intent == SetProperties(properties={LOG: "interval 30 days"})
    kept = {FILES: "interval 30 days", LOG: "interval 10 days", "delta.enableExpiredLogCleanup": "false"}
    assert _silent(written(properties=kept), "short-log-retention")


def test_a_property_that_cannot_be_read_leaves_the_question_open_with_the_reason() -> None:
    found = _audit(written(loaded("0.parquet"), properties={FILES: "soon"}))
    open_ = {result.rule.id: result.not_answered for result in found.not_answered}
    assert FILES in open_["short-retention"]
    assert "bulk-loss" not in open_


# --- files


def test_heavily_masked_files_are_a_warning_with_their_rows_and_the_purge() -> None:
    masked = small_logs.add("0.parquet", 1_000, vector=small_logs.vector("a", 400), size=500_000_000)
    finding = _found(written([masked], protocol=small_logs.MASKED), "masked-rows")
    assert (finding.severity, finding.files, finding.rows) == ("warning", 1, 400)
    assert finding.remedy is not None
    assert finding.remedy.intent == Purge()


def test_lightly_masked_files_are_no_finding() -> None:
    masked = small_logs.add("0.parquet", 1_000, vector=small_logs.vector("a", 100), size=500_000_000)
    assert _silent(written([masked], protocol=small_logs.MASKED), "masked-rows")


def _files(count: int, day: Callable[[int], str]) -> explorer.Table:
    adds = [small_logs.add(f"{n}.parquet", 1, partition_values={"day": day(n)}) for n in range(count)]
    return written(adds, partition_columns=["day"])


def test_many_small_files_are_a_warning_that_says_what_compaction_would_leave() -> None:
    finding = _found(_files(150, lambda n: str(n % 3)), "small-files")
    assert (finding.severity, finding.files) == ("warning", 150)
    assert "about 3" in finding.effect
    assert _found(_files(40, lambda _: "x"), "small-files").severity == "info"


def test_small_files_that_no_compaction_can_join_are_no_finding() -> None:
    assert _silent(_files(150, str), "small-files")
    assert _silent(_files(15, lambda _: "x"), "small-files")


def test_files_without_a_row_count_are_a_note() -> None:
    finding = _found(written([small_logs.add("0.parquet", None)], loaded("1.parquet")), "uncounted-files")
    assert (finding.severity, finding.files) == ("info", 1)


def test_statistics_that_cannot_be_used_are_a_warning() -> None:
    bad = msgspec.structs.replace(small_logs.add("0.parquet"), stats='{"numRecords": 1, "minValues": {"id": "x"}}')
    finding = _found(written([bad]), "statistics")
    assert (finding.severity, finding.files) == ("warning", 1)


def test_columns_without_statistics_in_any_of_many_files_are_a_note() -> None:
    adds = [small_logs.add(f"{n}.parquet", 9, bounds={"id": (1, 2)}, size=500_000_000) for n in range(25)]
    finding = _found(written(adds), "statistics")
    assert finding.severity == "info"
    assert "day" in _said(finding)
    both = [
        small_logs.add(f"{n}.parquet", 9, bounds={"id": (1, 2), "day": ("a", "b")}, size=500_000_000) for n in range(25)
    ]
    assert _silent(written(both), "statistics")


# --- all of them


def test_the_worst_comes_first_and_of_equal_ones_the_one_with_the_nearest_deadline() -> None:
    gone = [_info("DELETE"), _removed("1.parquet", 6 * DAY)]
    short = {LOG: "interval 5 days"}
    table = written(loaded("0.parquet"), loaded("1.parquet"), gone, loaded("2.parquet", 5), properties=short)
    findings = _audit(table, missing=frozenset({"2.parquet"})).findings
    assert [finding.rule for finding in findings][:3] == ["missing-files", "bulk-loss", "short-log-retention"]
    assert [finding.severity for finding in findings] == [
        "error",
        "warning",
        "warning",
        *["info"] * (len(findings) - 3),
    ]


@pytest.mark.reference
@pytest.mark.parametrize("folder", sorted((reference_root() / "tables").glob("*")), ids=lambda folder: folder.name)
def test_every_rule_answers_on_tables_of_the_reference(folder: Path) -> None:
    table = _audit(explorer.open_table(str(folder)))
    assert {result.rule.id for result in table.not_answered} == ASKED


def test_the_demo_warehouse_shows_its_stories(demo_warehouse: Path) -> None:
    result = {
        name: _audit(explorer.open_table(str(demo_warehouse / name))) for name in ("crm/customers", "sales/orders")
    }
    assert result["crm/customers"].findings[0].rule == "name-hazard"
    lost = next(finding for finding in result["sales/orders"].findings if finding.rule == "bulk-loss")
    assert (lost.label, lost.severity) == ("rows lost and restored, v30", "info")
