"""An empty string as a partition value: NULL by the protocol and here, and named as some clients differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.log.contested import ContestedWarning
from explorer.views.problems import data_problems
from tests.cli.conftest import Call, cli
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import PROTOCOL, Line, add, metadata, new_store, table, vector
from tests.support.logs.spark_tables import DataFile, column, write_table

__all__ = ["cli"]

TEXTS = metadata({"k": "long", "p": "string", "n": "long"}, ("p", "n"))


def _add(path: str, text: str | None, number: str | None = "1", **more: Any) -> Line:
    return add(path, 3, partition_values={"p": text, "n": number}, **more)


def test_both_counts_are_an_error_of_the_version_and_of_the_audit_with_a_change_that_settles_it() -> None:
    found = table(
        {0: [PROTOCOL, TEXTS, _add("a", ""), _add("b", None), _add("c", "x"), _add("d", "", vector=vector("v"))]}
    )
    contested = found.snapshot().contested
    assert contested is not None
    assert (contested.paths, contested.rows, contested.other_rows) == (("a", "d"), 8, 3)
    for text in ("NULL in p", "delta-spark and deltalake read an empty string", "8 rows", "3 rows"):
        assert text in contested.message
    finding = next(each for each in found.audit().findings if each.rule == "contested-files")
    assert (finding.severity, finding.files) == ("error", 2)
    assert finding.remedy is not None
    assert finding.remedy.intent is not None
    assert [each.title for each in data_problems(contested, "")] == ["Readers disagree about this version"]


@pytest.mark.parametrize("files", [[_add("a", None)], [_add("a", "x", "")], [_add("a", " ")], []])
def test_nulls_blanks_and_numbers_without_a_value_are_read_alike_by_all(files: list[Line]) -> None:
    found = table({0: [PROTOCOL, TEXTS, *files]})
    assert found.snapshot().contested is None
    assert found.verify().problems == ()


def test_verify_names_the_column_and_the_files_of_a_commit_and_of_a_checkpoint_without_its_commits() -> None:
    adds = [_add("a", ""), _add("b", ""), _add("c", "x")]
    (problem,) = table({0: [PROTOCOL, TEXTS, *adds]}).verify().problems
    assert (problem.kind, problem.breaking, problem.version) == ("empty-partition-value", False, 0)
    assert "2 files, such as a, have an empty string in the partition column 'p'" in problem.detail
    assert problem.next_step
    store = new_store()
    write_checkpoint(store, 3, [PROTOCOL, TEXTS, *adds], "classic")
    (problem,) = explorer.Table(store).verify().problems
    assert (problem.kind, problem.version) == ("empty-partition-value", 3)


def test_a_mapped_column_is_found_under_its_name_in_the_log(tmp_path: Path) -> None:
    fields = [
        column("k", "integer"),
        column("part", "string", **{"delta.columnMapping.physicalName": "col-1", "delta.columnMapping.id": 2}),
    ]
    fields[0]["metadata"] = {"delta.columnMapping.physicalName": "col-0", "delta.columnMapping.id": 1}
    rows = pa.table({"col-0": pa.array([1, 2], pa.int32())})
    mapped = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    write_table(tmp_path, fields, [DataFile("a.parquet", rows, {"col-1": ""})], ["part"], mapped)
    contested = explorer.open_table(tmp_path).snapshot().contested
    assert contested is not None
    assert (contested.column, contested.rows, contested.other_rows) == ("part", 2, 0)


@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
def test_the_rows_come_with_a_warning_and_the_change_of_the_audit_settles_it(cli: Call, tmp_path: Path) -> None:
    fields = [column("k", "integer"), column("p", "string")]
    files = [
        DataFile(f"{name}.parquet", pa.table({"k": pa.array([number], pa.int32())}), {"p": text})
        for number, (name, text) in enumerate([("a", ""), ("b", None), ("c", "x")])
    ]
    found = explorer.open_table(write_table(tmp_path, fields, files, ["p"]))
    with pytest.warns(ContestedWarning, match="empty string"):
        assert found.rows(where="p IS NULL").count() == 2
    told = cli("rows", tmp_path, "--json")
    assert (told.code, len(told.out.splitlines()), "empty string" in told.err) == (3, 3, True)
    assert found.erasure("p = ''").not_answered
    finding = next(each for each in found.audit().findings if each.rule == "contested-files")
    assert finding.remedy is not None
    assert finding.remedy.intent is not None
    assert found.commit(found.plan(finding.remedy.intent)).outcome == "committed"
    assert found.snapshot().contested is None
    assert sorted((row.k, row.p) for row in found.rows().collect() if row.p is None) == [(0, None), (1, None)]
