"""Commits whose actions are printed over several lines: read as one that has an action on each line, or refused."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer
from explorer.core.errors import MalformedAction
from explorer.core.log.action_lines import action_lines
from explorer.core.log.log_path import commit_name
from explorer.core.log.verify.integrity import verify
from explorer.core.protocol.log_store import LogStore
from tests.support.clients.other_readers import deltalake_rows, duckdb_rows
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, commit_info, lines, new_store, remove, write

TRICKY = 'a "quoted" {brace] \\ and a\nbreak'


def _actions(count: int = 3) -> list[dict[str, Any]]:
    written = [commit_info("WRITE", user_metadata=TRICKY), *(add(f"f{n} {{", 1 + n) for n in range(count)), remove("a")]
    found: list[dict[str, Any]] = [json.loads(line) for line in lines(written).splitlines()]
    return found


def _dumped(actions: list[dict[str, Any]], **options: Any) -> bytes:
    return b"\n".join(json.dumps(action, **options).encode() for action in actions)


def _mixed(actions: list[dict[str, Any]]) -> bytes:
    """Every second action over several lines."""
    texts = (json.dumps(action, indent=place % 2 * 2 or None) for place, action in enumerate(actions))
    return "\n\n".join(texts).encode() + b"\n"


SHAPES: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "indented": lambda actions: _dumped(actions, indent=2),
    "tabs and Windows line ends": lambda actions: _dumped(actions, indent="\t").replace(b"\n", b"\r\n"),
    "not indented": lambda actions: _dumped(actions, indent=0),
    "every second one": _mixed,
    "a line break after each comma": lambda actions: _dumped(actions, separators=(",\n", ":")),
    "a brace by itself at the end": lambda actions: b"\n".join(
        json.dumps(action).encode()[:-1] + b"\n}" for action in actions
    ),
}


def _store(data: bytes) -> LogStore:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA, add("a"))})
    store.put_if_absent(commit_name(1), data)
    write(store, {2: (add("z"),)})
    return store


@pytest.mark.parametrize("count", [3, 3_000], ids=["few", "many, of which some are alike"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_way_of_reading_gives_what_one_action_a_line_gives(shape: str, count: int) -> None:
    actions = _actions(count)
    usual, store = _store(_dumped(actions)), _store(SHAPES[shape](actions))
    one, other = explorer.Table(usual), explorer.Table(store)
    names = ["path", "size", "num_records", "partition_values", "modification_time"]
    assert other.snapshot().files(names).equals(one.snapshot().files(names))
    assert other.history_record().lifetimes.files_at(1).equals(one.history_record().lifetimes.files_at(1))
    kept = [column for column in one.history().column_names if column != "timestamp"]
    assert other.history().select(kept).equals(one.history().select(kept))
    assert (
        explorer.Table(store).provenance().select(["operation", "reason"]).to_pylist()
        == one.provenance().select(["operation", "reason"]).to_pylist()
    )
    assert [json.loads(line) for line in other.commit_actions(1)] == actions
    assert verify(store).chain_head == verify(usual).chain_head
    assert [(each.kind, each.version) for each in verify(store).problems] == [("spread-action", 1)]


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("shape", ["tabs and Windows line ends", "every second one"])
def test_a_commit_that_is_decoded_in_parts_is_cut_between_actions(shape: str) -> None:
    """Larger than any part: of it, and of the parts that are read with others."""
    store = _store(SHAPES[shape](_actions(25_000)))
    assert (explorer.Table(store).snapshot().num_files, explorer.Table(store).history().num_rows) == (25_001, 3)
    assert [(each.kind, each.version) for each in verify(store).problems] == [("spread-action", 1)]


@pytest.mark.parametrize("line", [b"{\n", b'{"a":\n', b'{"a":[\n', b"{}}\n{\n"])
def test_what_never_ends_is_refused_in_a_second(line: bytes) -> None:
    began = time.monotonic()
    with pytest.raises(MalformedAction):
        explorer.Table(_store(line * 100_000)).snapshot()
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("shape", ["indented", "every second one"])
def test_what_is_written_from_such_a_log_has_its_actions_whole(shape: str) -> None:
    actions = _actions()
    actions[1]["add"]["later"] = {"unknown": [1, {"deep": TRICKY}]}
    store = _store(SHAPES[shape](actions))
    table = explorer.Table(store)
    table.commit(table.plan({"kind": "compact-log", "from": 0, "to": 2}))
    table.commit(table.plan({"kind": "checkpoint"}))
    assert {each.kind for each in verify(store).problems} == {"spread-action"}
    assert explorer.Table(store).snapshot().files(["path"]).num_rows == 4


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (_dumped(_actions(), indent=2)[:-2], "truncated"),
        (_dumped(_actions(), indent=2)[:-40], "truncated"),
        (_dumped(_actions(1), indent=2) + b"\n}", "JSON"),
        (b"[\n" + b",\n".join(_dumped([action]) for action in _actions()) + b"\n]", "JSON array"),
        (_dumped(_actions(), indent=2).replace(b"\n{", b" {"), "action"),
        (b'{"add":\n{"path":"x","size":"many"}}', "size"),
        (b'{"add":{"path":"x\ny"}}', "action"),
    ],
    ids=["cut off", "cut off in between", "a brace too much", "an array", "two on a line", "a wrong type", "in a text"],
)
def test_what_is_no_run_of_whole_actions_is_refused(data: bytes, cause: str) -> None:
    store = _store(data)
    with pytest.raises(MalformedAction, match=cause):
        explorer.Table(store).snapshot()
    with pytest.raises(MalformedAction, match=cause):
        explorer.Table(store).history()
    assert [(each.kind, each.version) for each in verify(store).problems if each.breaking] == [("unreadable-commit", 1)]


def test_a_history_that_was_kept_is_that_of_the_log(tmp_path: Path) -> None:
    from tests.core.versions.test_kept_history import kept_in, opened

    folder = tmp_path / "table"
    (folder / "_delta_log").mkdir(parents=True)
    (folder / commit_name(0)).write_bytes(lines([PROTOCOL, METADATA, add("a")]))
    (folder / commit_name(1)).write_bytes(_dumped(_actions(), indent=2))
    indexes = kept_in(tmp_path / "kept")
    histories = [opened(folder, indexes)[0].history() for _ in range(2)]
    assert histories[0].equals(histories[1])
    assert histories[0].column("reason").to_pylist() == [TRICKY, None]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=4), _VALUES, min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from([None, 0, 1, 4, "\t"]),
    st.sampled_from(["\n", "\r\n", "\n\n", " \n "]),
)
def test_lines_are_those_of_one_action_each(values: list[Any], indent: int | str | None, between: str) -> None:
    data = between.join(json.dumps(value, indent=indent) for value in values).encode()
    found = action_lines(data)
    assert len(found) == data.count(b"\n") + 1
    assert [json.loads(line) for line in found if line.strip()] == values


@pytest.mark.interop
@pytest.mark.parametrize("read", [deltalake_rows, duckdb_rows])
def test_other_clients_read_such_a_commit_too(tmp_path: Path, read: Callable[[Path], pa.Table]) -> None:
    rows = pa.table({"id": [1, 2, 3]})
    deltalake.write_deltalake(str(tmp_path), rows)
    deltalake.write_deltalake(str(tmp_path), rows, mode="append")
    path = tmp_path / commit_name(1)
    path.write_bytes(_dumped([json.loads(line) for line in path.read_text().splitlines()], indent=2))
    assert read(tmp_path).num_rows == explorer.open_table(tmp_path).snapshot().num_records == 6
