"""Rules on the log against itself and its folder, on values, layout, features, vacuums and unusual commits."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.auditing import Audit, AuditInputs, Finding, Subject, audit
from explorer.auditing.rules.integrity import FAULTS, OTHER_RULES
from explorer.core.errors import CorruptTable
from explorer.core.log.log_path import commit_name
from explorer.core.log.verify.integrity import LogProblem
from explorer.core.protocol.actions import DomainMetadata, Protocol
from explorer.core.transaction.intents.records import DropFeature, SetNotNull, SyncIdentity
from explorer.core.transaction.row_engine import CheckReport, CheckResult
from explorer.storage import open_store
from tests.support.comparison.audited_tables import DAY, HOUR, NOW, ago, clean, committed, loaded, timed, written
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.rule_findings import finding_of, is_silent
from tests.support.shared_tables import golden_root, reference_root

MINUTE = 60_000


def _audit(table: explorer.Table, **inputs: Any) -> Audit:
    return audit(Subject(table, NOW, inputs=AuditInputs(**inputs)))


def _found(table: explorer.Table, rule: str, **inputs: Any) -> Finding:
    return finding_of(_audit(table, **inputs), rule)


def _silent(table: explorer.Table, rule: str, **inputs: Any) -> bool:
    return is_silent(_audit(table, **inputs), rule)


def _said(finding: Finding) -> str:
    return " ".join([finding.title, *(piece.text for piece in finding.evidence), finding.effect])


# --- the log against itself


@pytest.mark.parametrize(
    ("lines", "kind", "severity"),
    [
        ([small_logs.add("a.parquet"), small_logs.remove("a.parquet")], "added and removed", "error"),
        ([small_logs.remove("0.parquet"), small_logs.add("0.parquet")], "added and removed", "error"),
        ([small_logs.add("a.parquet"), small_logs.add("a.parquet")], "added twice", "warning"),
        ([small_logs.remove("0.parquet"), small_logs.remove("0.parquet")], "removed twice", "warning"),
        ([small_logs.remove("never.parquet")], "removed but not live", "warning"),
    ],
)
def test_a_commit_that_contradicts_itself(lines: list[Any], kind: str, severity: str) -> None:
    table = written(loaded("0.parquet"), [small_logs.commit_info("WRITE", user_name="ben"), *lines])
    finding = _found(table, "contradictory-actions")
    assert (finding.severity, finding.versions, kind in finding.title) == (severity, ((2, 2),), True)
    assert "WRITE by ben" in _said(finding)


def test_new_masks_later_additions_and_tombstones_of_vectors_contradict_nothing() -> None:
    one, two = small_logs.vector("a"), small_logs.vector("b")
    masked: list[Any] = [small_logs.remove("0.parquet"), small_logs.add("0.parquet", 1_000, vector=one)]
    again: list[Any] = [small_logs.add("0.parquet", 1_000, vector=two), small_logs.remove("0.parquet", vector=one)]
    dropped = [small_logs.remove("deletion_vector_9.bin")]
    table = written(
        [small_logs.add("0.parquet", 1_000)], masked, again, loaded("1.parquet"), loaded("1.parquet"), dropped,
        protocol=small_logs.MASKED,
    )  # fmt: skip
    assert _silent(table, "contradictory-actions")


def test_what_replay_contradicts_is_found_only_if_somebody_asks() -> None:
    store = small_logs.new_store()
    adds = [small_logs.add(f"{n}.parquet") for n in range(3)]
    small_logs.write(store, dict(enumerate([[small_logs.PROTOCOL, small_logs.METADATA], *([add] for add in adds)])))
    write_checkpoint(store, 2, [small_logs.PROTOCOL, small_logs.METADATA, adds[0]], "classic")
    stated = {"tableSizeBytes": 5, "numFiles": 9, "numMetadata": 1, "numProtocol": 1}
    store.put_if_absent(f"_delta_log/{3:020}.crc", json.dumps(stated).encode())
    table = explorer.Table(store)
    report = table.verify()
    checkpoint = _found(table, "checkpoint-differs", integrity=report)
    assert (checkpoint.severity, checkpoint.versions, "lacks 1 live file" in _said(checkpoint)) == (
        "error",
        ((2, 2),),
        True,
    )
    checksum = _found(table, "checksum-differs", integrity=report)
    assert (checksum.severity, "numFiles is 9" in _said(checksum)) == ("warning", True)
    whole = clean()
    for rule in ("checkpoint-differs", "checksum-differs", "log-faults"):
        assert not _silent(whole, rule)
        assert _silent(whole, rule, integrity=whole.verify())


def test_each_kind_of_fault_that_verifying_finds_has_words_or_a_rule_of_its_own() -> None:
    kinds = set(re.findall(r"``([a-z-]+)``", LogProblem.__doc__ or ""))
    assert kinds
    assert kinds == FAULTS.keys() | OTHER_RULES


def test_metadata_that_no_reader_may_take_is_told_though_a_later_commit_repaired_it() -> None:
    wrong = small_logs.metadata({"a": "frob"})
    commits = {0: [small_logs.PROTOCOL, wrong], 1: [small_logs.METADATA]}
    table = small_logs.table(commits)
    finding = _found(table, "log-faults", integrity=table.verify())
    assert (finding.severity, finding.versions) == ("warning", ((0, 0),))
    assert "'frob' is not known to the protocol" in _said(finding)


@pytest.mark.golden
@pytest.mark.reference
def test_a_compaction_that_is_not_reconciled_is_an_error_and_that_of_another_writer_is_not() -> None:
    # delta-spark 4.4.0 reads 23 rows of it; the commits hold 5.
    table = explorer.open_table(golden_root() / "tables" / "kernelrs__compacted-log-files-table")
    finding = _found(table, "compaction-differs", integrity=table.verify())
    assert (finding.severity, finding.files, "more than one action" in _said(finding)) == ("error", 3, True)
    assert _found(table, "compaction-differs") == finding, "it is small, so it is compared unasked"
    sound = explorer.open_table(reference_root() / "tables" / "log-compaction")
    assert _silent(sound, "compaction-differs", integrity=sound.verify())
    assert _silent(sound, "compaction-differs")


def test_a_log_that_does_not_keep_to_the_protocol_is_a_warning_and_what_harms_nobody_a_note() -> None:
    store = small_logs.new_store()
    small_logs.write(store, {0: [small_logs.PROTOCOL, small_logs.METADATA], 1: [small_logs.add("0.parquet")]})
    store.put_if_absent("_delta_log/_last_checkpoint", b"{")
    table = explorer.Table(store)
    note = _found(table, "log-faults", integrity=table.verify())
    assert (note.severity, "an unusable hint of the newest checkpoint" in note.title) == ("info", True)
    back = timed([[committed(HOUR)], [committed(2 * HOUR)]])
    fault = _found(back, "log-faults", integrity=back.verify())
    assert (fault.severity, fault.versions, "a clock that moved backward" in fault.title) == (
        "warning",
        ((2, 2),),
        True,
    )


def test_a_log_that_was_rewritten_does_not_hold_the_saved_head() -> None:
    store = small_logs.new_store()
    created: list[Any] = [small_logs.PROTOCOL, small_logs.METADATA]
    small_logs.write(store, {0: created, 1: [small_logs.add("0.parquet")]})
    saved = explorer.Table(store).verify().chain_head
    small_logs.write(store, {2: [small_logs.add("1.parquet")]})
    assert _silent(explorer.Table(store), "tampered-log", chain_head=saved)
    store.delete(commit_name(1))
    small_logs.write(store, {1: [small_logs.add("0.parquet", 2)]})
    finding = _found(explorer.Table(store), "tampered-log", chain_head=saved)
    assert (finding.severity, saved is not None and saved in _said(finding)) == ("error", True)


def test_after_a_clean_up_a_head_that_is_not_found_is_a_warning() -> None:
    store = small_logs.new_store()
    created: list[Any] = [small_logs.PROTOCOL, small_logs.METADATA]
    small_logs.write(store, {0: created, 1: [small_logs.add("0.parquet")], 2: [small_logs.add("1.parquet")]})
    saved = explorer.Table(store).verify().chain_head
    write_checkpoint(store, 1, [*created, small_logs.add("0.parquet")], "classic")
    store.delete(commit_name(0))
    assert _found(explorer.Table(store), "tampered-log", chain_head=saved).severity == "warning"


# --- logs that a broken client wrote

BARE = msgspec.structs.replace(small_logs.METADATA, schema_string=None)


@pytest.mark.parametrize(
    ("first", "lacking"),
    [([small_logs.METADATA], "protocol"), ([small_logs.PROTOCOL], "metadata"), ([small_logs.PROTOCOL, BARE], "schema")],
    ids=["no protocol", "no metadata", "no schema"],
)
def test_a_log_of_a_broken_client_opens_with_all_that_can_be_known_and_gives_no_rows(
    first: list[Any], lacking: str
) -> None:
    gone: list[Any] = [small_logs.commit_info("DELETE", user_name="ben"), small_logs.remove("0.parquet")]
    adds = [small_logs.add(f"{n}.parquet", 1_000) for n in range(2)]
    table = small_logs.table({0: first, 1: adds, 2: gone})
    with pytest.raises(CorruptTable):
        table.snapshot().require_schema()
    finding = _found(table, "unreadable-log")
    assert (finding.severity, finding.title) == ("error", f"The log has no {lacking}")
    assert finding.remedy is not None
    assert _found(table, "bulk-loss").rows == 1_000
    assert table.history().column("num_rows").to_pylist() == [1_000, 2_000, 0], "newest first"
    assert table.diff(1, 2).files.column("path").to_pylist() == ["0.parquet"]
    assert table.retention(NOW).num_rows == 3
    assert _found(table, "missing-files", stored=table.store.list_files()).files == 1


# --- the folder


def test_the_folder_is_compared_with_the_log(tmp_path: Path) -> None:
    kept, changed = small_logs.add("kept.parquet", size=4), small_logs.add("changed.parquet", size=4)
    gone = small_logs.remove("gone.parquet", deletion_timestamp=ago(30 * DAY))
    small_logs.write_log(
        tmp_path, [[small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("gone.parquet")], [kept, changed, gone]]
    )
    for name, size in {"kept": 4, "changed": 3, "gone": 1, "orphan": 7, "_hidden": 1}.items():
        (tmp_path / f"{name}.parquet").write_bytes(b"x" * size)
    table = explorer.Table(open_store(tmp_path))
    assert not _silent(table, "resized-files")
    listing = table.store.list_files()
    late = listing.set_column(2, "modified", pa.array([ago(9 * DAY)] * listing.num_rows, pa.int64()))
    resized = _found(table, "resized-files", stored=late)
    assert (resized.severity, resized.files, "4 bytes in the log, 3 stored" in _said(resized)) == ("error", 1, True)
    orphans = _found(table, "orphan-files", stored=late)
    assert (orphans.files, orphans.size, "orphan.parquet" in _said(orphans)) == (1, 7, True)
    young = listing.set_column(2, "modified", pa.array([ago(HOUR)] * listing.num_rows, pa.int64()))
    assert _silent(table, "orphan-files", stored=young), "a writer may still commit it"
    assert _silent(table, "missing-files", stored=listing)
    (tmp_path / "kept.parquet").unlink()
    missing = _found(table, "missing-files", stored=table.store.list_files())
    assert "kept.parquet" in _said(missing)


def test_a_file_whose_name_no_disk_takes_is_missing_and_stops_no_audit(tmp_path: Path) -> None:
    long = "n" * 300 + ".parquet"
    small_logs.write_log(tmp_path, [[small_logs.PROTOCOL, small_logs.METADATA, small_logs.add(long)]])
    table = explorer.open_table(tmp_path).audit(NOW, check_files=True)
    (missing,) = (each for each in table.findings if each.rule == "missing-files")
    assert (missing.severity, missing.files) == ("error", 1)


# --- values


def _described(fields: Sequence[dict[str, Any]], configuration: dict[str, str] | None = None) -> Any:
    whole = [{"nullable": True, "metadata": {}, **field} for field in fields]
    schema = json.dumps({"type": "struct", "fields": whole})
    return msgspec.structs.replace(small_logs.METADATA, schema_string=schema, configuration=configuration or {})


def _of(*actions: Any, protocol: Protocol = small_logs.PROTOCOL) -> explorer.Table:
    return small_logs.table({0: [protocol, actions[0]], 1: list(actions[1:])})


def _counted(name: str, records: int, nulls: dict[str, int], **more: Any) -> Any:
    file = small_logs.add(name, records, size=500_000_000, **more)
    return msgspec.structs.replace(file, stats=json.dumps({"numRecords": records, "nullCount": nulls}))


def test_columns_without_a_null_are_a_note_if_the_table_has_many_rows_and_all_are_counted() -> None:
    described = _described([{"name": "id", "type": "long"}, {"name": "note", "type": "string"}])
    table = _of(described, _counted("0.parquet", 20_000, {"id": 0, "note": 7}))
    finding = _found(table, "nullable-without-nulls")
    assert (finding.severity, finding.remedy and finding.remedy.intent) == ("info", SetNotNull(column="id"))
    assert "note" not in _said(finding)
    few = _of(described, _counted("0.parquet", 200, {"id": 0, "note": 0}))
    uncounted = _of(described, _counted("0.parquet", 20_000, {"id": 0, "note": 1}), small_logs.add("1.parquet", 9))
    assert _silent(few, "nullable-without-nulls")
    assert _silent(uncounted, "nullable-without-nulls")


def test_a_column_that_a_check_names_is_not_said_to_be_open_to_nulls() -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "net", "type": "long"}]
    described = _described(fields, {"delta.constraints.paid": "NET >= 0"})
    finding = _found(_of(described, _counted("0.parquet", 20_000, {"id": 0, "net": 0})), "nullable-without-nulls")
    assert finding.title == "1 column allows nulls; it has none"
    assert "net" not in _said(finding)


@pytest.mark.parametrize("cardinality", [-1, 6])
def test_a_vector_that_claims_more_rows_than_its_file_has_is_wrong(cardinality: int) -> None:
    def masked(count: int) -> explorer.Table:
        vector = small_logs.vector("v", count)
        return _of(_described([]), small_logs.add("0.parquet", 5, vector=vector), protocol=small_logs.MASKED)

    finding = _found(masked(cardinality), "wrong-cardinality")
    assert (finding.severity, finding.files) == ("error", 1)
    assert "0.parquet" in _said(finding)
    assert _silent(masked(5), "wrong-cardinality")


def test_another_id_is_a_note_with_the_commits_that_gave_it() -> None:
    first = _described([{"name": "id", "type": "long"}])
    second, third = (msgspec.structs.replace(first, id=name) for name in ("second", "third"))
    replace = small_logs.commit_info("REPLACE TABLE", user_name="ana")
    table = small_logs.table({0: [small_logs.PROTOCOL, first], 1: [second], 2: [second], 3: [replace, third]})
    finding = _found(table, "another-id")
    assert (finding.severity, finding.versions) == ("info", ((3, 3),))
    assert "ana" in _said(finding)
    assert "v1" in _said(finding)
    assert _silent(small_logs.table({0: [small_logs.PROTOCOL, first], 1: [first]}), "another-id")


def test_nulls_in_a_column_that_is_not_null_are_wrong_and_masked_ones_may_be_gone() -> None:
    described = _described([{"name": "id", "type": "long", "nullable": False}])
    finding = _found(_of(described, _counted("0.parquet", 9, {"id": 2})), "null-in-not-null")
    assert (finding.severity, finding.rows, "0.parquet" in _said(finding)) == ("error", 2, True)
    masked = _counted("0.parquet", 9, {"id": 2}, vector=small_logs.vector("a", 2))
    assert _silent(_of(described, masked, protocol=small_logs.MASKED), "null-in-not-null")
    inner = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": False, "metadata": {}}]}
    nested = _described([{"name": "s", "type": inner}])
    assert _silent(_of(nested, _counted("0.parquet", 9, {"s": {"x": 2}})), "null-in-not-null")  # type: ignore[dict-item]


def _identity(mark: int, greatest: int) -> explorer.Table:
    counting = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.highWaterMark": mark}
    described = _described([{"name": "id", "type": "long", "metadata": counting}])
    protocol = Protocol(min_reader_version=1, min_writer_version=6)
    return _of(described, small_logs.add("0.parquet", 9, bounds={"id": (1, greatest)}), protocol=protocol)


def test_an_identity_column_behind_its_values_is_a_warning_with_the_intent() -> None:
    finding = _found(_identity(9, 40), "identity-behind")
    assert (finding.severity, finding.remedy and finding.remedy.intent) == ("warning", SyncIdentity(column="id"))
    assert "last value 40, mark 9" in _said(finding)
    assert _silent(_identity(40, 40), "identity-behind")


@pytest.mark.conformance("IDENT-008")
@pytest.mark.parametrize(
    ("start", "step", "mark", "damaged"),
    [(10, 3, 17, True), (10, 3, 16, False), (10, 3, None, False), (0, -2, -3, True), (0, -2, -4, False)],
)
def test_a_mark_that_no_step_reaches_is_damage(start: int, step: int, mark: int | None, damaged: bool) -> None:
    counting = {"delta.identity.start": start, "delta.identity.step": step}
    counting |= {} if mark is None else {"delta.identity.highWaterMark": mark}
    described = _described([{"name": "id", "type": "long", "metadata": counting}])
    table = _of(described, small_logs.add("0.parquet"), protocol=Protocol(min_reader_version=1, min_writer_version=6))
    assert _silent(table, "identity-mark-damaged") is not damaged
    if damaged:
        finding = _found(table, "identity-mark-damaged")
        assert (finding.severity, f"mark {mark}" in _said(finding)) == ("warning", True)


def test_rows_that_break_a_rule_are_wrong_once_somebody_looked() -> None:
    def result(name: str, violations: int | None) -> CheckResult:
        return CheckResult(name, "x", violations, 9, pa.table({"path": ["a"]}), pa.table({}))

    table = clean()
    assert not _silent(table, "broken-rules")
    assert _silent(table, "broken-rules", rows=CheckReport(3, (result("check positive", 0),)))
    broken = _found(table, "broken-rules", rows=CheckReport(3, (result("check positive", 4), result("other", 0))))
    assert (broken.severity, broken.rows, "check positive: 4 rows in 1 file" in _said(broken)) == ("error", 4, True)
    unjudged = _audit(table, rows=CheckReport(3, (result("check odd", None),)))
    assert {each.rule.id: each.not_answered for each in unjudged.not_answered}["broken-rules"].endswith("check odd.")


def test_names_that_differ_only_by_case_are_wrong_in_structs_too() -> None:
    fields: list[Any] = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("x", "X")]
    nested = _described([{"name": "s", "type": {"type": "struct", "fields": fields}}, {"name": "x", "type": "long"}])
    finding = _found(_of(nested), "case-names")
    assert (finding.severity, "s.x and s.X" in _said(finding)) == ("error", True)
    top = _described([{"name": "a", "type": "long"}, {"name": "A", "type": "long"}])
    assert "a and A" in _said(_found(_of(top), "case-names"))
    same = _found(_of(_described([{"name": "a", "type": "long"}, {"name": "a", "type": "string"}])), "case-names")
    assert (same.severity, same.title) == ("error", "Two columns have the name a")
    assert same.remedy is not None
    assert same.remedy.intent is None


# --- layout and look-ups


def _partitioned(sizes: Sequence[int]) -> explorer.Table:
    adds = [
        small_logs.add(f"{n}.parquet", 1, partition_values={"day": str(n)}, size=size) for n, size in enumerate(sizes)
    ]
    return written(adds, partition_columns=["day"])


def test_many_thin_partitions_are_a_note_and_a_warning_when_they_are_very_many() -> None:
    note = _found(_partitioned([1_000] * 150), "partition-explosion")
    assert (note.severity, note.files, "partitioned by day" in _said(note)) == ("info", 150, True)
    assert _found(_partitioned([1_000] * 1_200), "partition-explosion").severity == "warning"
    assert _silent(_partitioned([90_000_000] * 150), "partition-explosion")
    assert _silent(_partitioned([1_000] * 50), "partition-explosion")


def test_one_partition_with_most_of_the_bytes_is_a_note() -> None:
    assert "of 20 partitions" in _found(_partitioned([9_000_000_000] + [50_000_000] * 19), "skewed-partitions").title
    assert _silent(_partitioned([2_000_000_000] * 20), "skewed-partitions")


CLUSTERED = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("clustering", "domainMetadata"))


def _clustered(spread: bool, bounds: bool = True) -> explorer.Table:
    domain = DomainMetadata(
        domain="delta.clustering", configuration=json.dumps({"clusteringColumns": [["id"]]}), removed=False
    )
    described = small_logs.metadata({"id": "long"})
    adds = [
        small_logs.add(
            f"{n}.parquet",
            9,
            size=500_000_000,
            bounds={"id": (n, 1_000 + n) if spread else (10 * n, 10 * n + 9)} if bounds else None,
        )
        for n in range(25)
    ]
    return small_logs.table({0: [CLUSTERED, described, domain], 1: adds})


def test_clustering_that_parts_no_files_is_a_note() -> None:
    assert "25" in _found(_clustered(spread=True), "unclustered-files").title
    assert _silent(_clustered(spread=False), "unclustered-files")


def test_columns_that_rows_are_looked_up_by_need_statistics() -> None:
    finding = _found(_clustered(spread=False, bounds=False), "needed-statistics")
    assert (finding.severity, "clustered by id" in _said(finding)) == ("warning", True)
    assert _silent(_clustered(spread=False, bounds=False), "statistics"), "one finding is enough"
    adds = [small_logs.add(f"{n}.parquet", 9, bounds={"id": (1, 2)}, size=500_000_000) for n in range(25)]
    predicate = {"predicate": "[\"(t.day#12 = 'a')\"]"}
    asked = [small_logs.commit_info("DELETE", operation_parameters=predicate)]
    assert "day" in _found(written(adds, asked), "needed-statistics").title
    assert _silent(written(adds), "needed-statistics")


# --- features


def test_a_feature_that_nothing_uses_and_that_keeps_clients_out_can_be_dropped() -> None:
    described = _described([{"name": "id", "type": "long"}])
    finding = _found(_of(described, small_logs.add("0.parquet", 9), protocol=small_logs.MASKED), "unused-features")
    assert finding.remedy is not None
    assert finding.remedy.intent == DropFeature(feature="deletionVectors")
    on = _described([{"name": "id", "type": "long"}], {"delta.enableDeletionVectors": "true"})
    assert _silent(_of(on, small_logs.add("0.parquet", 9), protocol=small_logs.MASKED), "unused-features")
    masked = small_logs.add("0.parquet", 9, vector=small_logs.vector("a"))
    assert _silent(_of(described, masked, protocol=small_logs.MASKED), "unused-features")
    plain = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("appendOnly", "invariants"))
    assert _silent(_of(described, protocol=plain), "unused-features")


def test_a_legacy_version_that_demands_more_than_is_used_is_a_note() -> None:
    described = _described([{"name": "id", "type": "long"}], {"delta.enableChangeDataFeed": "true"})
    legacy = Protocol(min_reader_version=1, min_writer_version=4)
    finding = _found(_of(described, protocol=legacy), "legacy-protocol")
    assert "checkConstraints, generatedColumns" in finding.title
    assert "used of it: changeDataFeed" in _said(finding)
    assert _silent(clean(), "legacy-protocol")
    # A list of features counts from writer version 7 on; a name in it that nobody knows is not judged.
    listed = Protocol(min_reader_version=1, min_writer_version=2, writer_features=("appendOnly", "tomorrow"))
    assert not [finding for finding in _of(described, protocol=listed).audit().findings if "tomorrow" in finding.title]


# --- vacuums


def _vacuum(**parameters: str) -> list[Any]:
    return [small_logs.commit_info("VACUUM START", user_name="ben", operation_parameters=parameters)]


def test_a_vacuum_that_kept_less_than_the_table_says_is_a_warning_with_who_ran_it() -> None:
    hasty = _vacuum(retentionCheckEnabled="false", specifiedRetentionMillis="0")
    finding = _found(written(loaded("0.parquet"), hasty), "hasty-vacuum")
    assert (finding.severity, finding.versions) == ("warning", ((2, 2),))
    assert "by ben" in _said(finding)
    assert "turned off" in _said(finding)
    patient = _vacuum(retentionCheckEnabled="true", specifiedRetentionMillis=str(7 * DAY))
    assert _silent(written(loaded("0.parquet"), patient, _vacuum(defaultRetentionMillis="604800000")), "hasty-vacuum")


def test_other_formats_without_the_check_of_vacuums_are_a_warning() -> None:
    properties = {"delta.universalFormat.enabledFormats": "iceberg"}
    assert _found(written(loaded("0.parquet"), properties=properties), "vacuum-unprotected").severity == "warning"
    assert _silent(clean(), "vacuum-unprotected")


def test_a_restore_that_reached_further_back_than_files_are_kept_is_a_warning() -> None:
    def of(days: int) -> explorer.Table:
        back = committed(HOUR, "RESTORE", "ben", operation_parameters={"version": "1"})
        return timed(
            [
                [committed(90 * DAY), small_logs.add("0.parquet")],
                [committed(days * DAY), small_logs.add("1.parquet")],
                [back],
            ]
        )

    finding = _found(of(20), "restore-reach")
    assert (finding.severity, finding.versions, "19 days" in finding.title) == ("warning", ((3, 3),), True)
    assert _silent(of(3), "restore-reach")


# --- commits


def _daily(days: int, *, until: int = 0, hour: int = 0, user: str = "etl") -> list[list[Any]]:
    """A commit a day up to so many days ago, some hours before the hour of the present."""
    return [
        [committed((until + days - n) * DAY + hour * HOUR, user=user), small_logs.add(f"{user}{n}.parquet")]
        for n in range(days)
    ]


def test_a_commit_at_an_hour_at_which_its_author_never_commits_is_a_note() -> None:
    regular = _daily(40, until=1)
    odd = [committed(9 * HOUR), small_logs.add("odd.parquet")]
    finding = _found(timed([*regular, odd]), "out-of-hours")
    assert (finding.severity, finding.versions) == ("info", ((41, 41),))
    usual = [committed(24 * HOUR - 30 * MINUTE), small_logs.add("usual.parquet")]
    assert _silent(timed([*regular, usual]), "out-of-hours")
    assert _silent(timed([*_daily(10, until=1), odd]), "out-of-hours"), "ten commits show no hours"


def test_a_new_author_or_engine_is_a_note() -> None:
    new = [committed(HOUR, user="mallory", engine_info="Other/1"), small_logs.add("new.parquet")]
    finding = _found(timed([*_daily(40, until=1), new]), "new-writer")
    assert (finding.severity, finding.versions, "mallory" in _said(finding)) == ("info", ((41, 41),), True)
    assert _silent(timed(_daily(40, until=1)), "new-writer")
    assert _silent(timed([new, *_daily(40)]), "new-writer")


def test_a_clock_that_went_back_is_a_note() -> None:
    late = small_logs.commit_info("WRITE", timestamp=small_logs.LONG_AGO - 3 * HOUR, user_name="ben")
    finding = _found(written(loaded("0.parquet"), [late]), "clock-back")
    assert (finding.severity, finding.versions, "3 hours" in finding.title) == ("info", ((2, 2),), True)
    slightly = small_logs.commit_info("WRITE", timestamp=small_logs.LONG_AGO - MINUTE)
    assert _silent(written(loaded("0.parquet"), [slightly]), "clock-back")


def test_a_regular_loader_that_stays_away_is_a_warning_and_a_note_where_nobody_comes_any_more() -> None:
    finding = _found(timed(_daily(30, until=5)), "silent-loader")
    assert (finding.severity, "every day" in finding.title) == ("warning", True)
    assert _found(timed(_daily(30, until=200)), "silent-loader").severity == "info"
    assert _silent(timed(_daily(30, until=1)), "silent-loader")
    irregular = [[committed((900 - n * n) * HOUR), small_logs.add(f"{n}.parquet")] for n in range(25)]
    assert _silent(timed(irregular), "silent-loader")


# --- tables of others

_TOLD = {
    "data files missing at latest version": "missing-files",
    "metaData without valid schemaString": "unreadable-log",
    "corrupt: no metaData": "unreadable-log",
    "corrupt: no protocol": "unreadable-log",
}
_UNTOLD = {
    "delta__spark-table-with-dv-special-char": {"unreachable-files"},
    "kernelrs__compacted-log-files-table": {"compaction-differs"},
}
"""Errors of tables of which the list says nothing: a placeholder in a path, and compactions that were made by hand."""


@pytest.mark.golden
def test_errors_on_golden_tables_are_those_that_their_list_tells_of() -> None:
    readme = (golden_root() / "README.md").read_text()
    rows = re.findall(r"^\| (\w+__\S+) \|[^|]*\|[^|]*\| ([^|]*) \|", readme, re.MULTILINE)
    assert len(rows) > 100
    result, told = {}, {}
    for name, features in rows:
        audited = explorer.open_table(golden_root() / "tables" / name).audit(NOW, check_files=True)
        result[name] = {each.rule for each in audited.findings if each.severity == "error"}
        answered = {each.rule.id for each in audited.results if not each.not_answered}
        told[name] = {rule for words, rule in _TOLD.items() if words in features} & answered
        # No reader could say which files such a table needs, so the list says nothing of them; nor across a gap.
        if "unreadable-log" in told[name]:
            result[name].discard("missing-files")
            told[name].discard("missing-files")
        if "non-contiguous log" in features:
            result[name].discard("unreadable-log")
        result[name] -= _UNTOLD.get(name, set())
    assert {name: rules for name, rules in result.items() if rules} == {
        name: rules for name, rules in told.items() if rules
    }
