"""What the log itself says of a constant: bounds, partition values, paths, predicates; commits and checkpoints."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.auditing.erasure.constants import Constants, constants_of, only_equalities
from explorer.auditing.erasure.search import prove_erasure
from explorer.auditing.erasure.traces import LogTraces, log_traces
from explorer.core.protocol.actions import Add, CommitInfo
from explorer.core.protocol.times import aware_moment, milliseconds
from explorer.core.versions.file_search import SearchResult
from tests.support.logs.small_logs import MASKED, metadata, remove, write_log

NOW = milliseconds(aware_moment("2026-11-22T10:00:00Z"))
COLUMNS = {"id": "long", "name": "string", "region": "string", "born": "date"}


@pytest.mark.parametrize(
    ("where", "what", "column"),
    [
        ("name = 'ana'", "least value", "name"),
        ("name = 'zoe'", "greatest value", "name"),
        ("id = 17", "least value", "id"),
        ("id = 17.0", "least value", "id"),
        ("born = DATE '1990-05-01'", "greatest value", "born"),
        ("region = 'r\u00fcgen east'", "partition value", "region"),
        ("region = 'r\u00fcgen east'", "path", None),
        ("name = 'erased one'", "predicate", None),
    ],
)
def test_each_kind_of_trace_is_named(tmp_path: Path, where: str, what: str, column: str | None) -> None:
    traces = _traces(_table(tmp_path), where, "id", "name", "born", "region")
    (trace,) = [trace for trace in traces.traces if trace.what == what]
    assert trace.path == f"_delta_log/{1 if what == 'predicate' else 0:020}.json"
    assert (trace.column or None, trace.version) == (column, 1 if what == "predicate" else 0)


def test_a_number_counts_only_for_the_columns_that_the_predicate_names(tmp_path: Path) -> None:
    root = _table(tmp_path)
    assert not _traces(root, "name_length = 17", "name_length").traces
    # Nor does it because a file has so many bytes or rows.
    assert not _traces(root, "id = 1000", "id").traces
    assert _traces(root, "id = 17", "id").traces


def test_a_number_counts_after_the_last_file_is_gone_too(tmp_path: Path) -> None:
    """The log keeps the bounds of files that are no longer stored, so nobody may call their rows erased."""
    stats = {"numRecords": 2, "minValues": {"id": 17}, "maxValues": {"id": 99}}
    root = write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS), _add("a.parquet", stats)], [remove("a.parquet")]])
    names, counts = pa.array([], pa.string()), pa.array([], pa.int64())
    none = SearchResult(
        pa.table({"key": names, "rows": counts, "digest": names}),
        pa.table({"request": names, "key": names, "visible": counts, "masked": counts}),
        {},
    )
    proof = prove_erasure(explorer.open_table(root), {"": "id = 17"}, NOW, lambda _: none)[""]
    assert [(trace.what, trace.column, trace.value) for trace in proof.traces] == [("least value", "id", "17")]


def test_a_bound_that_is_cut_off_counts(tmp_path: Path) -> None:
    long = "ana-maria-" * 6
    stats = {"numRecords": 1, "minValues": {"name": long[:32]}, "maxValues": {"name": long[:31] + "\U0010ffff"}}
    root = write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS), _add("a.parquet", stats)]])
    assert {trace.what for trace in _traces(root, f"name = '{long}'", "name").traces} == {
        "least value",
        "greatest value",
    }
    assert not _traces(root, f"name = 'b{long}'", "name").traces


@pytest.mark.parametrize("name", ["\u4e2d" * 60, "\U0001f600" * 20, "\u4e2d" * 22 + "abc"])
def test_a_bound_that_another_writer_cuts_off_by_bytes_counts(tmp_path: Path, name: str) -> None:
    deltalake.write_deltalake(tmp_path / "t", pa.table({"name": [name]}))
    commit = (tmp_path / "t" / "_delta_log" / f"{0:020}.json").read_text("utf-8")
    assert name not in commit
    assert {trace.what for trace in _traces(tmp_path / "t", f"name = '{name}'", "name").traces} == {
        "least value",
        "greatest value",
    }


def test_statistics_that_are_nested_too_deeply_are_searched_as_a_text(tmp_path: Path) -> None:
    root = write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS), _add("a.parquet", {})]])
    commit = root / "_delta_log" / f"{0:020}.json"
    deep = json.dumps("[" * 5_000 + '"ana"' + "]" * 5_000)
    commit.write_text(commit.read_text("utf-8").replace(json.dumps("{}"), deep), "utf-8")
    assert [trace.path for trace in _traces(root, "name = 'ana'", "name").traces] == [f"_delta_log/{commit.name}"]


@pytest.mark.parametrize("as_struct", [False, True])
def test_checkpoints_hold_what_their_commits_held(tmp_path: Path, as_struct: bool) -> None:
    properties = {"delta.checkpoint.writeStatsAsStruct": str(as_struct).lower()}
    properties["delta.checkpoint.writeStatsAsJson"] = str(not as_struct).lower()
    root = _table(tmp_path, properties)
    table = explorer.open_table(root)
    assert table.commit(table.plan({"kind": "checkpoint"})).outcome == "committed"
    key = "_delta_log/00000000000000000001.checkpoint.parquet"
    assert ("stats_parsed" in pq.read_schema(root / key).field("add").type.names) == as_struct
    for where, what in (
        ("name = 'ana'", "least value"),
        ("id = 17", "least value"),
        ("region = 'r\u00fcgen east'", "path"),
    ):
        traces = _traces(root, where, "id", "name", "region").traces
        assert {trace.what for trace in traces if trace.path == key} >= {what}, where


def test_a_file_of_the_log_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    root = _table(tmp_path)
    (root / "_delta_log" / "00000000000000000000.checkpoint.parquet").write_bytes(b"PAR1 and no more")
    traces = log_traces(explorer.open_table(root), constants_of("name = 'ana'", frozenset({"name"})), NOW)
    assert [path for path, _ in traces.unanswered] == ["_delta_log/00000000000000000000.checkpoint.parquet"]


def test_traces_go_with_log_cleanup_and_stay_where_it_is_off(tmp_path: Path) -> None:
    month = 30 * 86_400_000
    (trace,) = _traces(_table(tmp_path / "on"), "name = 'ana'", "name").traces
    # No checkpoint yet: one made today is old enough from the midnight after the retention.
    assert trace.gone_from == milliseconds(aware_moment("2026-11-23T00:00:00Z")) + month
    root = _table(tmp_path / "off", {"delta.enableExpiredLogCleanup": "false"})
    assert {each.gone_from for each in _traces(root, "name = 'ana'", "name").traces} == {None}


@pytest.mark.parametrize(
    ("stored", "asked", "found"),
    [
        ("1980-05-06T23:07:08.000-07:00", "1980-05-07 06:07:08", True),
        ("1980-05-06T23:07:08.000-07:00", "1980-05-06 23:07:08", True),
        ("1980-05-06T23:07:08.000Z", "1980-05-06T16:07:08-07:00", True),
        ("1980-05-06T23:07:08.000-07:00", "1980-05-07 06:07:09", False),
        ("1980-05-06", "1980-05-06T00:00:00Z", True),
        ("12000-05-06", "12000-05-06", True),
        ("12000-05-06 00:00", "12000-05-07", False),
    ],
)
def test_a_time_is_found_as_a_clock_and_as_a_moment(stored: str, asked: str, found: bool) -> None:
    assert constants_of(f"born = '{asked}'", frozenset({"born"})).equal(stored) is found


@pytest.mark.parametrize("name", ['Ann "Zed" Xi', "O'Brien", "back\\slash", "line\nbreak", "J\u00fcrgen"])
@pytest.mark.parametrize("inner", [True, False])
def test_a_constant_is_found_inside_a_predicate_that_escapes_it(name: str, inner: bool, tmp_path: Path) -> None:
    """The reference keeps a list of conditions, as JSON, in a text of the commit's JSON."""
    said = json.dumps([f"(name#191 = {name})"]) if inner else f"name = '{name.replace(chr(39), chr(39) * 2)}'"
    info = CommitInfo(operation="DELETE", operation_parameters={"predicate": said})
    root = write_log(tmp_path / "t", [[MASKED, metadata(COLUMNS)], [info]])
    traces = log_traces(explorer.open_table(root), Constants((name,), (), frozenset({"name"})), NOW)
    assert [(trace.what, trace.version) for trace in traces.traces] == [("predicate", 1)]


@pytest.mark.parametrize(
    ("where", "whole"),
    [
        ("email = 'x'", True),
        ("'x' <=> email AND (id = -1 OR `b c` IN ('y', 2))", True),
        ("born = DATE '2020-01-01' AND s.a == 1.5", True),
        ("name = 'O''Brien' OR flag = true", True),
        ("email LIKE 'a%'", False),
        ("lower(email) = 'x'", False),
        ("email = concat('a', 'b')", False),
        ("email RLIKE '^a'", False),
        ("id > 5", False),
        ("id BETWEEN 1 AND 2", False),
        ("id + 1 = 2", False),
        ("NOT (id = 1)", False),
        ("id != 1", False),
        ("a = b AND id = 1", False),
        ("phone IS NULL OR id = 1", False),
        ("bin = X'1F'", False),
    ],
)
def test_only_of_equalities_the_constants_are_all_that_a_row_must_hold(where: str, whole: bool) -> None:
    assert only_equalities(where) is whole


def test_constants_are_read_from_every_spelling() -> None:
    constants = constants_of("a = 'it''s' OR b IN (-5, 1.50, r'x\\y') OR c = \"q\" -- 'comment'", frozenset())
    assert {"it's", "its", "x\\y", "q"} <= set(constants.texts)
    assert "comment" not in constants.texts
    assert [str(number) for number in constants.numbers] == ["-5", "1.50"]
    assert not constants_of("a IS NULL", frozenset())


def _table(folder: Path, properties: dict[str, str] | None = None) -> Path:
    stats = {
        "numRecords": 1000,
        "minValues": {"id": 17, "name": "ana", "born": "1980-01-01", "name_length": 3},
        "maxValues": {"id": 99, "name": "zoe", "born": "1990-05-01", "name_length": 3},
    }
    path = "region=r%25C3%25BCgen%20east/a.parquet"
    info = CommitInfo(operation="DELETE", operation_parameters={"predicate": "[\"(name = 'erased one')\"]"})
    first = [MASKED, metadata(COLUMNS, ["region"], properties), _add(path, stats, {"region": "r\u00fcgen east"})]
    return write_log(folder / "t", [first, [info]])


def _add(path: str, stats: dict[str, object], values: dict[str, str | None] | None = None) -> Add:
    return Add(path=path, partition_values=values or {}, size=1000, modification_time=1, stats=json.dumps(stats))


def _traces(root: Path, where: str, *columns: str) -> LogTraces:
    traces = log_traces(explorer.open_table(root), constants_of(where, frozenset(columns)), NOW)
    assert not traces.unanswered
    return traces
