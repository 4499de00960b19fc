"""The JSON of each command on the demo tables: shapes, and values that the story knows."""

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

import explorer
from explorer.core.protocol import limits
from tests.cli.conftest import Call


def test_snapshot_is_one_document_in_the_names_of_the_protocol(cli: Call, demo_warehouse: Path) -> None:
    document = cli("snapshot", demo_warehouse / "finance/ledger", "--json").document()
    assert list(document) == [
        "table",
        "version",
        "timestamp",
        "protocol",
        "metadata",
        "numFiles",
        "sizeInBytes",
        "numRecords",
        "numDeletedRecords",
        "transactions",
        "domainMetadata",
        "unreadColumns",
    ]
    assert document["table"] == (demo_warehouse / "finance/ledger").as_uri()
    assert document["version"] == 22
    assert document["timestamp"].endswith("Z")
    assert document["protocol"]["minReaderVersion"] == 1
    assert "inCommitTimestamp" in document["protocol"]["writerFeatures"]
    assert document["metadata"]["configuration"]["delta.enableInCommitTimestamps"] == "true"
    assert msgspec.json.decode(document["metadata"]["schemaString"])["type"] == "struct"
    assert document["transactions"] == {"ledger-import": 18}
    assert list(document["domainMetadata"]) == ["delta.clustering"]
    assert document["numDeletedRecords"] == 0


def test_snapshot_at_a_time_is_the_one_current_then(cli: Call, demo_warehouse: Path) -> None:
    orders = demo_warehouse / "sales/orders"
    commits = cli("history", orders, "--json").lines()
    for commit in commits[3:6]:
        found = cli("snapshot", orders, "--timestamp", commit["timestamp"], "--json").document()
        assert (found["version"], found["timestamp"]) == (commit["version"], commit["timestamp"])
    by_version = cli("snapshot", orders, "--version", 7, "--json").document()
    assert by_version["version"] == 7


def test_files_are_as_in_the_log(cli: Call, demo_warehouse: Path) -> None:
    events = demo_warehouse / "web/events"
    lines = cli("files", events, "--version", 3, "--json").lines()
    logged = {}
    for version in range(4):
        for line in (events / "_delta_log" / f"{version:020}.json").read_bytes().splitlines():
            if add := msgspec.json.decode(line).get("add"):
                logged[add["path"]] = add
    assert {line["path"] for line in lines} == set(logged)
    for line in lines:
        add = logged[line["path"]]
        assert line == {
            "path": add["path"],
            "partitionValues": {name: add["partitionValues"].get(name) for name in ("event_date", "country")},
            "size": add["size"],
            "modificationTime": add["modificationTime"],
            "numRecords": msgspec.json.decode(add["stats"])["numRecords"],
            "deletionVector": None,
        }
    assert None in {line["partitionValues"]["country"] for line in lines}


def test_files_that_a_condition_reads_are_those_whose_values_and_bounds_allow_it(
    cli: Call, demo_warehouse: Path
) -> None:
    events = demo_warehouse / "web/events"
    lines = cli("files", events, "--json").lines()
    stated = {line["partitionValues"]["country"] for line in lines} - {None}
    countries = sorted(country for country in stated if country.isalpha())
    assert len(countries) > 1
    for country in countries:
        found = cli("files", events, "--where", f"country = '{country}'", "--json").lines()
        assert found == [line for line in lines if line["partitionValues"]["country"] == country and line["numRecords"]]
    people = cli("files", events, "--where", f"country = '{country}'", "--limit", 1)
    assert people.code == 0
    assert f"of {len(lines)} files have to be read" in people.err
    assert people.out.count(".parquet") == 1
    unused = cli("files", events, "--where", f"country = '{country}' AND length(country) > 1", "--limit", 1)
    assert "'length(country) > 1' leaves out no file: only a comparison" in unused.err
    told = cli("files", events, "--where", f"country = '{country}' AND length(country) > 1", "--limit", 1, "--json").err
    ((part,),) = json.loads(told).values()
    assert (part["text"], part["reason"][:17]) == ("length(country) > 1", "only a comparison")
    assert cli("files", events, "--limit", 2, "--json").lines() == lines[:2]
    assert cli("files", events, "--where", "nothing = 1", "--json").code == 2


def test_a_checkpoint_past_the_limit_of_the_environment_names_the_way_on_spark(
    cli: Call, demo_warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_CHECKPOINT_BYTES", limits.MAX_CHECKPOINT_BYTES)
    large = next(log for log in sorted(demo_warehouse.rglob("_delta_log")) if list(log.glob("*.checkpoint.parquet")))
    monkeypatch.setenv(limits.CHECKPOINT_VARIABLE, "10")
    refused = cli("files", large.parent, "--json").error()
    assert refused["error"] == "LimitExceeded"
    assert refused["allowed"] == 10
    assert "--spark MASTER" in refused["message"]
    monkeypatch.setenv(limits.CHECKPOINT_VARIABLE, "1000000000")
    assert cli("files", large.parent, "--json").lines()
    monkeypatch.setenv(limits.CHECKPOINT_VARIABLE, "a lot")
    assert cli("files", large.parent, "--json").code == 2


def test_masked_files_tell_their_vector(cli: Call, demo_warehouse: Path) -> None:
    orders = demo_warehouse / "sales/orders"
    masked = [line for line in cli("files", orders, "--json").lines() if line["deletionVector"] is not None]
    vectors = cli("deletion-vectors", orders, "--json").lines()
    assert list(vectors[0]) == [
        "path",
        "storageType",
        "uniqueId",
        "file",
        "offset",
        "sizeInBytes",
        "cardinality",
        "numRecords",
    ]
    assert {line["path"]: line["deletionVector"] for line in masked} == {
        vector["path"]: {name: vector[name] for name in ("storageType", "uniqueId", "cardinality", "sizeInBytes")}
        for vector in vectors
    }
    assert all((orders / vector["file"]).is_file() for vector in vectors)
    deleted = cli("snapshot", orders, "--json").document()["numDeletedRecords"]
    assert sum(vector["cardinality"] for vector in vectors) == deleted > 0


def test_history_is_newest_first_and_can_be_limited(cli: Call, demo_warehouse: Path) -> None:
    lines = cli("history", demo_warehouse / "sales/orders", "--json").lines()
    assert [line["version"] for line in lines] == list(range(38, -1, -1))
    contract = {
        "version", "timestamp", "operation", "operationParameters", "userName", "engineInfo", "numFilesAdded",
        "numFilesRemoved", "bytesAdded", "bytesRemoved", "rowsAdded", "rowsRemoved", "rowsMasked",
    }  # fmt: skip
    assert all(contract <= set(line) for line in lines)
    (erasure,) = (line for line in lines if line["userMetadata"] == "erasure request 1042")
    assert (erasure["operation"], erasure["userName"]) == ("DELETE", "ana@shop.example")
    assert erasure["operationParameters"] == {"predicate": "[\"(customer_id = 'C-00417')\"]"}
    assert (erasure["rowsAdded"], erasure["rowsRemoved"]) == (0, 0)
    assert erasure["rowsMasked"] == int(erasure["operationMetrics"]["numDeletedRows"]) > 0
    assert cli("history", demo_warehouse / "sales/orders", "--limit", 2, "--json").lines() == lines[:2]


def test_who_did_what_is_listed_without_what_it_did_to_files(cli: Call, demo_warehouse: Path) -> None:
    orders = demo_warehouse / "sales/orders"
    whole, alone = (cli("history", orders, *more, "--json").lines() for more in ((), ("--no-totals",)))
    assert [*alone[0]] == [*whole[0]][: [*whole[0]].index("engineInfo") + 1]
    assert alone == [{name: line[name] for name in alone[0]} for line in whole]
    ana = cli("history", orders, "--by", "ana@", "--limit", 1, "--no-totals", "--json").lines()
    assert ana == [line for line in alone if "ana@" in (line["userName"] or "")][:1]
    for more, of_files in (((), ["files", "rows"]), (("--no-totals",), [])):
        head = next(line for line in cli("history", orders, *more).out.splitlines() if "basis" in line)
        assert head.split() == ["version", "time", "basis", "operation", "by", *of_files, "reason"]


def test_commits_are_found_by_person_operation_text_and_time(cli: Call, demo_warehouse: Path) -> None:
    orders = demo_warehouse / "sales/orders"
    whole = cli("history", orders, "--json").lines()
    (erasure,) = (line for line in whole if line["userMetadata"] == "erasure request 1042")
    ana = [line for line in whole if "ANA@" in (line["userName"] or "").upper()]
    assert 0 < len(ana) < len(whole)
    assert cli("history", orders, "--by", "ANA@", "--json").lines() == ana
    assert cli("history", orders, "--by", "ana@", "--limit", 1, "--json").lines() == ana[:1]
    for text in ("request 1042", "c-00417"):
        assert erasure in cli("history", orders, "--text", text, "--operation", "delete", "--json").lines()
    day = erasure["timestamp"][:10]
    after, before = (cli("history", orders, flag, day, "--json").lines() for flag in ("--since", "--until"))
    assert [*after, *before] == whole
    assert erasure in after
    assert (
        "No commits match"
        in cli("history", orders, "--by", "nobody at all").err + cli("history", orders, "--by", "nobody at all").out
    )


def test_diff_tells_files_schema_protocol_and_properties(cli: Call, demo_warehouse: Path) -> None:
    found = cli("diff", demo_warehouse / "sales/orders", 14, 21, "--json").document()
    assert list(found) == [
        "table",
        "fromVersion",
        "toVersion",
        "files",
        "totals",
        "schema",
        "protocol",
        "properties",
        "attributes",
    ]
    assert set(found["totals"]) == {
        "filesAdded", "filesRemoved", "filesRemasked", "bytesAdded", "bytesRemoved", "rowsAdded", "rowsRemoved",
        "rowsMasked",
    }  # fmt: skip
    changes = [file["change"] for file in found["files"]]
    assert changes.count("added") == found["totals"]["filesAdded"] > 0
    assert changes.count("remasked") == found["totals"]["filesRemasked"] > 0
    remasked = next(file for file in found["files"] if file["change"] == "remasked")
    assert remasked["deletionVectorCardinalityAfter"] > (remasked["deletionVectorCardinalityBefore"] or 0)
    renamed = next(change for change in found["schema"] if change["kind"] == "renamed")
    assert (renamed["before"], renamed["after"], renamed["fieldId"]) == ("cust", "customer_id", 2)
    assert found["protocol"]["featuresAdded"] == ["columnMapping"]
    assert found["protocol"]["before"]["readerFeatures"] == ["deletionVectors"]
    mode = next(change for change in found["properties"] if change["key"] == "delta.columnMapping.mode")
    assert mode == {"key": "delta.columnMapping.mode", "before": None, "after": "name"}


def test_diff_backwards_swaps_added_and_removed(cli: Call, demo_warehouse: Path) -> None:
    there = cli("diff", demo_warehouse / "sales/orders", 10, 13, "--json").document()["totals"]
    back = cli("diff", demo_warehouse / "sales/orders", 13, 10, "--json").document()["totals"]
    assert (there["filesAdded"], there["rowsAdded"]) == (back["filesRemoved"], back["rowsRemoved"])


def test_diff_of_a_version_with_itself_is_empty(cli: Call, demo_warehouse: Path) -> None:
    found = cli("diff", demo_warehouse / "sales/orders", 9, 9, "--json").document()
    assert (found["files"], found["schema"], found["protocol"], found["properties"]) == ([], [], None, [])


def test_columns_follow_names_over_versions(cli: Call, demo_warehouse: Path) -> None:
    lines = {line["column"]: line for line in cli("columns", demo_warehouse / "sales/orders", "--json").lines()}
    renamed = lines["customer_id"]
    assert (renamed["fieldId"], renamed["physicalName"]) == (2, "cust")
    assert [span["name"] for span in renamed["spans"]] == ["cust", "customer_id"]
    assert set(renamed["spans"][0]) == {"fromVersion", "toVersion", "name", "type", "nullable"}
    assert lines["note"]["droppedAt"] == lines["note"]["spans"][-1]["toVersion"] + 1
    assert lines["discount"]["physicalName"].startswith("col-")


def test_columns_warn_of_names_that_changed_hands(cli: Call, demo_warehouse: Path) -> None:
    lines = {line["column"]: line for line in cli("columns", demo_warehouse / "crm/customers", "--json").lines()}
    (hazard,) = lines["email"]["hazards"]
    assert (hazard["kind"], hazard["name"]) == ("reused-name", "email")
    assert lines["contact_email"]["hazards"] == [hazard]
    assert lines["since"]["hazards"] == []
    assert len(lines["address.city"]["physicalPath"]) == 2


def test_statistics_are_typed_values(cli: Call, demo_warehouse: Path) -> None:
    orders = demo_warehouse / "sales/orders"
    result = cli("statistics", orders, "--column", "amount", "--column", "ordered_at", "--json")
    lines = result.lines()
    assert {line["column"] for line in lines} == {"amount", "ordered_at"}
    assert list(lines[0]) == [
        "path",
        "column",
        "type",
        "min",
        "max",
        "nullCount",
        "numRecords",
        "tight",
    ]
    exact = msgspec.json.Decoder(float_hook=Decimal)
    ranges = explorer.open_table(orders).snapshot().column_ranges("amount").to_pylist()
    amounts = [exact.decode(line) for line in result.out.splitlines() if '"column":"amount"' in line]
    assert [(row["min"], row["max"]) for row in ranges] == [(line["min"], line["max"]) for line in amounts]
    assert all(str(line["min"]).partition(".")[2] for line in amounts)
    for line in lines:
        if line["column"] == "ordered_at":
            assert line["min"].endswith("Z")
            assert datetime.fromisoformat(line["min"]).tzinfo is not None


def test_statistics_of_every_column_by_default(cli: Call, demo_warehouse: Path) -> None:
    lines = cli("statistics", demo_warehouse / "web/events", "--version", 1, "--json").lines()
    files = cli("files", demo_warehouse / "web/events", "--version", 1, "--json").lines()
    assert len(lines) == 8 * len(files)
    unknown = [line for line in lines if line["column"] == "agent"]
    assert {(line["min"], line["max"], line["nullCount"]) for line in unknown} == {(None, None, None)}
    assert {line["path"] for line in lines} == {file["path"] for file in files}


@pytest.mark.parametrize(
    "arguments",
    [
        ("snapshot", "crm/customers"),
        ("columns", "crm/customers"),
        ("files", "sales/orders"),
        ("deletion-vectors", "sales/orders"),
        ("statistics", "web/events", "--version", "2"),
        ("history", "sales/orders"),
        ("diff", "sales/orders", "3", "30"),
    ],
)
def test_people_get_text(arguments: tuple[str, ...], cli: Call, demo_warehouse: Path) -> None:
    result = cli(arguments[0], demo_warehouse / arguments[1], *arguments[2:])
    assert (result.code, result.err) == (0, "")
    assert len(result.out.splitlines()) > 3
    assert "\x1b" not in result.out


def test_people_are_told_units_zones_and_what_is_not_known(cli: Call, demo_warehouse: Path) -> None:
    snapshot = cli("snapshot", demo_warehouse / "sales/orders").out
    assert "more masked by deletion vectors" in snapshot
    assert " MB" in snapshot
    assert " UTC" in snapshot
    assert "unknown" in cli("statistics", demo_warehouse / "web/events", "--column", "agent", "--version", 1).out
    assert "No rows are masked" in cli("deletion-vectors", demo_warehouse / "finance/ledger").out
    assert "has no files" in cli("files", demo_warehouse / "web/events", "--version", 0).out
    for command in ("files", "statistics"):
        assert cli(command, demo_warehouse / "sales/orders", "--limit", 0).out == "No file is listed: --limit is 0.\n"
    assert "The two versions are the same." in cli("diff", demo_warehouse / "sales/orders", 4, 4).out


def test_rows_that_only_moved_are_no_change(cli: Call, demo_warehouse: Path) -> None:
    lines = cli("history", demo_warehouse / "sales/orders").out.splitlines()
    (reorganised,) = (line for line in lines if " REORG " in line)
    assert " 28,500 moved " in reorganised
    assert "+28,500" not in reorganised
    assert "-28,500" not in reorganised
