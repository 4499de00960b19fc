"""Where matching rows are stored: against a search of every file by PyArrow, and over the life of a person's rows."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.auditing.erasure import Erasure, erasure_document
from explorer.core.errors import ExpressionRefused, RequestError, TableError, UnsupportedFeature
from explorer.new_table import new_table
from tests.support.at_least_one import at_least_one
from tests.support.clients.raw_search import check_proof, equalities, raw_counts
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.small_logs import new_store
from tests.support.logs.spark_tables import DataFile, column, struct, write_table
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]

# After delete, update and merge, with a change feed, and with mapped, nested and dropped columns.
DOSE: Final = ("change-feed-partitioned", "column-mapping")
NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
PERSON: Final = "name = 'ana'"
ANA: Final = pa.table({"name": ["ana"]})


def _tables() -> list[Path]:
    reference = reference_root() / "tables"
    if not WHOLE_DOSE:
        return [reference / name for name in DOSE]
    folders = [*reference.iterdir(), *(golden_root() / "tables").iterdir()]
    return sorted(folder for folder in folders if (folder / "_delta_log").is_dir())


@pytest.mark.always(cases=["change-feed-partitioned"])
@pytest.mark.reference
@pytest.mark.golden
@pytest.mark.parametrize("root", _tables(), ids=lambda root: root.name)
def test_the_proof_finds_what_a_raw_search_finds(root: Path) -> None:
    table = explorer.open_table(root)
    try:
        _ = table.snapshot().schema
    except (TableError, UnsupportedFeature) as error:
        pytest.skip(f"the table cannot be read: {error}")
    asked = {where: (paths, value) for where, paths, value in equalities(table)}
    if not asked:
        pytest.skip("no file of the table has a column of an easy type")
    proof = table.erasure({where: where for where in asked})
    for where, (paths, value) in at_least_one(asked.items()):
        check_proof(proof[where], raw_counts(root, paths, value))
    first = next(iter(asked))
    if not proof[first].not_answered:
        assert proof[first].totals["live"] == table.rows(where=first).count()


def test_a_table_without_a_file_holds_nobody(tmp_path: Path) -> None:
    deltalake.DeltaTable.create(tmp_path / "none", deltalake.Schema([deltalake.Field("name", "string")]))
    proof = explorer.open_table(tmp_path / "none").erasure(PERSON)
    assert (_rows(proof), proof.not_answered) == ({}, ())


@pytest.mark.always
def test_a_person_from_live_to_gone(tmp_path: Path) -> None:
    table = _people(tmp_path, {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"})
    root = tmp_path / "people"
    proof = table.erasure(PERSON)
    assert _rows(proof) == {"live": 2}
    assert [step.intent and step.intent["kind"] for step in proof.steps][:3] == ["delete", "purge", "vacuum"]
    assert "change data feed" in proof.steps[0].why

    _commit(table, {"kind": "delete", "where": PERSON})
    proof = table.erasure(PERSON)
    assert _rows(proof) == {"masked": 1, "history": 1}
    assert [step.intent and step.intent["kind"] for step in proof.steps][:2] == ["purge", "vacuum"]
    assert any(trace.what == "predicate" and trace.version == 3 for trace in proof.traces)

    _commit(table, {"kind": "purge"})
    pq.write_table(pa.table({"id": [9], "name": ["ana"]}), root / "part-left-over.parquet")
    proof = table.erasure(PERSON)
    assert _rows(proof) == {"history": 2, "orphan": 1}
    _raw_agrees(proof, root)
    assert all(place.gone_from is not None for place in proof.places)
    assert "vacuum" in {step.intent["kind"] for step in proof.steps if step.intent}

    _commit(table, {"kind": "restore", "version": 2})
    restored = table.erasure(PERSON)
    assert _rows(restored) == {"live": 2, "orphan": 1}
    _commit(table, {"kind": "delete", "where": PERSON})
    _commit(table, {"kind": "purge"})
    _commit(
        table, {"kind": "set-properties", "properties": {"delta.deletedFileRetentionDuration": "interval 0 seconds"}}
    )
    _age(root)
    _commit(table, {"kind": "vacuum"})
    proof = table.erasure(PERSON)
    assert _rows(proof) == {}
    _raw_agrees(proof, root)
    assert proof.basis.stored.gone
    # The log still holds the name, so nobody may call it erased.
    assert proof.obstacles
    assert {trace.what for trace in proof.traces} >= {"least value", "predicate"}
    assert not [each for each in proof.not_answered if not each.path.startswith("_delta_log")]


def test_a_range_is_erased_only_when_the_log_holds_no_value_in_it_either(tmp_path: Path) -> None:
    table = _people(tmp_path, {})
    asked = ("name LIKE 'zz%'", "id > 3", "name LIKE 'an%'", "id BETWEEN 2 AND 5 AND name <> 'eve'")
    proof = table.erasure({where: where for where in asked})
    assert [not proof[where].obstacles for where in asked] == [True, True, False, False]
    assert {trace.what for trace in proof["name LIKE 'an%'"].traces} == {"least value", "greatest value"}
    _commit(table, {"kind": "delete", "where": "id IN (1, 3)"})
    after = table.erasure("name LIKE 'an%'")
    assert (after.totals["live"], after.totals["history"]) == (0, 2)
    assert after.obstacles[1].startswith("the log contains a matching value, or a constant of the predicate in ")
    assert not [each for each in after.not_answered if each.path.startswith("_delta_log")]


def test_change_files_are_places_of_their_own(tmp_path: Path) -> None:
    table = _people(tmp_path, {"delta.enableChangeDataFeed": "true"})
    _commit(table, {"kind": "delete", "where": PERSON})
    proof = table.erasure(PERSON)
    assert _rows(proof) == {"history": 2, "feed": 2}
    _raw_agrees(proof, tmp_path / "people")
    feed = [place for place in proof.places if place.state == "feed"]
    assert all(place.path.startswith("_change_data/") and place.from_version == 3 for place in feed)


def test_statistics_that_are_wrong_hide_no_row(tmp_path: Path) -> None:
    root = write_table(tmp_path / "t", [column("name", "string")], [DataFile("a.parquet", pa.table({"name": ["ana"]}))])
    commit = next((root / "_delta_log").glob("*.json"))
    lie = json.dumps(json.dumps({"numRecords": 1, "minValues": {"name": "x"}, "maxValues": {"name": "z"}}))
    commit.write_text(commit.read_text().replace(json.dumps('{"numRecords": 1}'), lie))
    assert lie in commit.read_text()
    assert _rows(explorer.open_table(root).erasure(PERSON)) == {"live": 1}


@pytest.mark.always
def test_what_cannot_be_answered_is_named_and_never_absent(tmp_path: Path) -> None:
    people = pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["ana", "ben"]})
    files = [DataFile(f"{name}.parquet", people) for name in ("sound", "missing", "damaged", "older")]
    files[3] = DataFile("older.parquet", people.select(["id"]))
    root = write_table(tmp_path / "t", [column("id", "long"), column("name", "string")], files)
    (root / "missing.parquet").unlink()
    data = (root / "damaged.parquet").read_bytes()
    (root / "damaged.parquet").write_bytes(data[:4] + bytes(len(data) - 8) + data[-4:])
    pq.write_table(people.select(["id"]), root / "no-such-column.parquet")
    pq.write_table(pa.table({"id": [1], "name": [5.5]}), root / "other-type.parquet")
    (root / "export.csv").write_text("id,name\n1,ana\n")
    proof = explorer.open_table(root).erasure(PERSON)
    assert [(place.path, place.state, place.rows) for place in proof.places] == [("sound.parquet", "live", 1)]
    reasons = {each.path: each.reason for each in proof.not_answered}
    assert set(reasons) == {
        "missing.parquet", "damaged.parquet", "no-such-column.parquet", "other-type.parquet", "export.csv"
    }  # fmt: skip
    assert "no column name" in reasons["no-such-column.parquet"]
    # A live file without a column was written before it was added: its rows are null there, which is an answer.
    answered = explorer.open_table(root).erasure("name IS NULL")
    assert ("older.parquet", 2) in {(place.path, place.rows) for place in answered.places}
    assert not erasure_document(proof).may_claim_erased


def test_a_type_that_changed_and_does_not_compare_is_no_answer(tmp_path: Path) -> None:
    old = pa.table({"name": pa.array([5], pa.int64())})
    root = write_table(tmp_path / "t", [column("name", "long")], [DataFile("old.parquet", old)])
    pq.write_table(ANA, root / "new.parquet")
    first = (root / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    meta = next(json.loads(line) for line in first if '"metaData"' in line)
    meta["metaData"]["schemaString"] = json.dumps(struct(column("name", "string")))
    remove = {"path": "old.parquet", "deletionTimestamp": 1_700_000_000_000, "dataChange": True}
    size = (root / "new.parquet").stat().st_size
    add = {"path": "new.parquet", "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}
    lines = [meta, {"remove": remove}, {"add": add}]
    (root / "_delta_log" / f"{1:020}.json").write_text("\n".join(map(json.dumps, lines)))
    proof = explorer.open_table(root).erasure(PERSON)
    assert [(place.path, place.state) for place in proof.places] == [("new.parquet", "live")]
    (open_,) = proof.not_answered
    assert open_.path == "old.parquet"
    assert "name is long at version 0 and string at version 1" in open_.reason


def test_a_file_that_fails_while_it_is_read_hides_no_other(tmp_path: Path) -> None:
    names = pa.table({"name": [f"{number}-{number * 7919 % 10007}" for number in range(2_000)] + ["ana"]})
    files = [DataFile(f"{place}.parquet", names) for place in range(4)]
    root = write_table(tmp_path / "t", [column("name", "string")], files)
    data = bytearray((root / "2.parquet").read_bytes())
    start = pq.read_metadata(root / "2.parquet").row_group(0).column(0).dictionary_page_offset or 4
    data[start : start + 400] = bytes(255 for _ in range(400))
    (root / "2.parquet").write_bytes(data)
    proof = explorer.open_table(root).erasure(PERSON)
    assert [place.path for place in proof.places] == ["0.parquet", "1.parquet", "3.parquet"]
    (open_,) = proof.not_answered
    assert open_.path == "2.parquet"
    assert set(proof.basis.results.read.column("key").to_pylist()) == {place.path for place in proof.places}


def test_a_table_in_an_object_store_is_searched_as_one_on_disk(tmp_path: Path) -> None:
    folder = write_table(tmp_path / "t", [column("name", "string")], [DataFile("a b%.parquet", ANA, masked=[0])])
    store = new_store()
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        store.put(file.relative_to(folder).as_posix(), file.read_bytes())
    store.put("left/over.parquet", (folder / "a b%.parquet").read_bytes())
    proof = explorer.open_table(store.root).erasure(PERSON)
    assert {(place.path, place.state) for place in proof.places} == {
        ("a b%.parquet", "masked"), ("left/over.parquet", "orphan")
    }  # fmt: skip


def test_partition_values_come_from_the_log_and_for_orphans_from_their_folders(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int64())})
    fields = [column("id", "long"), column("region", "string")]
    root = write_table(tmp_path / "t", fields, [DataFile("x/a.parquet", rows, {"region": "us"})], ["region"])
    (root / "region=us").mkdir()
    pq.write_table(rows, root / "region=us" / "orphan.parquet")
    pq.write_table(rows, root / "nowhere.parquet")
    proof = explorer.open_table(root).erasure("region = 'us' AND id = 1")
    assert {(place.path, place.state) for place in proof.places} == {
        ("x/a.parquet", "live"), ("region=us/orphan.parquet", "orphan")
    }  # fmt: skip
    assert [each.path for each in proof.not_answered] == ["nowhere.parquet"]


def test_live_and_masked_matches_of_one_file_are_two_places(tmp_path: Path) -> None:
    inner = struct(column("name", "string"))
    people = [{"name": "ana"}, {"name": "ben"}, {"name": "ana"}, None]
    rows = pa.table({"person": pa.array(people, pa.struct([("name", pa.string())]))})
    root = write_table(tmp_path / "t", [column("person", inner)], [DataFile("a.parquet", rows, masked=[0])])
    proof = explorer.open_table(root).erasure("person.name = 'ana'")
    assert [(place.state, place.rows) for place in proof.places] == [("live", 1), ("masked", 1)]
    assert proof.obstacles[0] == "2 copies of matching rows in 1 file"


def test_dates_follow_the_retention_and_the_removal(tmp_path: Path) -> None:
    table = _people(tmp_path, {"delta.deletedFileRetentionDuration": "interval 3 days"})
    _commit(table, {"kind": "delete", "where": "id = 1"})
    commit = (tmp_path / "people" / "_delta_log" / f"{table.latest_version():020}.json").read_text()
    removed = next(json.loads(line)["remove"] for line in commit.splitlines() if '"remove"' in line)
    later = datetime.now(UTC) + timedelta(days=1)
    proof = table.erasure_job({"": PERSON}, later).result()[""]
    dates = {place.state: place.gone_from for place in proof.places}
    three_days = 3 * 86_400_000
    assert dates["live"] == int(later.timestamp() * 1000) + three_days
    gone = dates["history"]
    assert gone is not None
    # Not before the tombstone has expired, nor before the file itself is as old.
    assert 0 <= gone - (removed["deletionTimestamp"] + three_days) < 60_000


def test_a_predicate_that_cannot_be_used_is_a_fault_of_the_request(tmp_path: Path) -> None:
    table = _people(tmp_path, {})
    for where in ("nme = 'ana'", "name", "rand() < 1", "name = 'ana'; drop"):
        with pytest.raises(ExpressionRefused):
            table.erasure(where)
    with pytest.raises(RequestError):
        table.erasure({})


def _people(folder: Path, properties: dict[str, str]) -> explorer.Table:
    """Versions 1 and 2 bring a file each: one with ana and ben, one with ana alone."""
    target = new_table(str(folder / "people"))
    schema = struct(column("id", "long"), column("name", "string"))
    created = target.commit(target.plan({"kind": "create-table", "schema": schema, "properties": properties}))
    assert created.outcome == "committed"
    table = explorer.open_table(folder / "people")
    for number, rows in enumerate(({"id": [1, 2], "name": ["ana", "ben"]}, {"id": [3], "name": ["ana"]})):
        source = folder / f"{number}.parquet"
        pq.write_table(pa.table(rows), source)
        _commit(table, {"kind": "append", "source": str(source)})
    return table


def _commit(table: explorer.Table, intent: dict[str, Any]) -> None:
    accepted = [guard.name for guard in table.plan(intent, check_rows=False).guards if guard.status == "unknown"]
    result = table.commit(table.plan(intent, accept=accepted))
    assert result.outcome == "committed", result


def _rows(proof: Erasure) -> dict[str, int]:
    return {state: rows for state, rows in proof.totals.items() if rows}


def _raw_agrees(proof: Erasure, root: Path) -> None:
    check_proof(proof, raw_counts(root, [("name",)], "ana"))


def _age(root: Path) -> None:
    """Make all data files as old as a vacuum needs them."""
    for file in root.rglob("*.parquet"):
        if "_delta_log" not in file.parts:
            os.utime(file, (NOW.timestamp() - 86_400 * 400,) * 2)
