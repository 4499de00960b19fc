"""Commit files: which names count, what a file may look like, and which versions can be had."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import MalformedAction, VersionGap, VersionNotFound
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import (
    AddCDCFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    TransactionAction,
    encode_line,
)
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, SCHEMA, add, lines, new_store, paths, remove, table

START = (PROTOCOL, METADATA, add("a"))


def _on_disk(root: Path, commits: dict[str, bytes]) -> Path:
    log = root / "_delta_log"
    log.mkdir(parents=True)
    for name, content in commits.items():
        (log / name).write_bytes(content)
    return root


@pytest.mark.conformance("LOG-003")
def test_versions_follow_their_numbers_whatever_names_sort_like_and_files_are_dated(tmp_path: Path) -> None:
    commits = {f"{version}.json": lines([remove(f"f{version - 1}"), add(f"f{version}")]) for version in range(1, 12)}
    commits["00000000000000000000.json"] = lines([*START, add("f0")])
    root = _on_disk(tmp_path / "t", commits)
    for age, version in enumerate(range(12)):
        name = f"{version}.json" if version else "00000000000000000000.json"
        os.utime(root / "_delta_log" / name, (2_000_000 - 1000 * age,) * 2)
    found = explorer.open_table(root)
    assert found.latest_version() == 11
    assert paths(found.snapshot()) == {("a", None), ("f11", None)}
    assert paths(found.snapshot(9)) == {("a", None), ("f9", None)}


@pytest.mark.conformance("LOG-003", "LOG-004", "CATALOG-003")
def test_other_files_and_folders_in_the_log_change_nothing(tmp_path: Path) -> None:
    root = _on_disk(tmp_path / "t", {"00000000000000000000.json": lines(START), "00000000000000000001.json": b""})
    log = root / "_delta_log"
    for name in (
        "foo.txt",
        ".00000000000000000001.json.crc",
        "00000000000000000002.json.tmp",
        "00000000000000000002.foo.json",
        "00000000000000000002.json.gz",
        "_started_00000000000000000002.json",
        "00000000000000000002.9d6f6e3c-8b7e-4c4f-8f3b-1f0f6a1f4c11.json",
    ):
        (log / name).write_bytes(b"not to be read")
    (log / "00000000000000000002.json").mkdir()
    for folder in ("_staged_commits", "_commits", "_sidecars"):
        (log / folder).mkdir()
        staged = log / folder / "00000000000000000002.016ae953-37a9-438e-8683-9a9a4a79a395.json"
        staged.write_bytes(lines([remove("a")]))
        (log / folder / "00000000000000000002.json").write_bytes(lines([remove("a")]))
    found = explorer.open_table(root)
    assert found.version_range() == (0, 1)
    assert paths(found.snapshot()) == {("a", None)}
    assert found.history().num_rows == 2


@pytest.mark.conformance("LOG-007")
def test_an_action_spread_over_lines_is_read_and_named_as_a_fault() -> None:
    pretty = json.dumps(json.loads(encode_line(add("b"))), indent=2).encode()
    found = table({0: START, 1: (add("c"), pretty)})
    assert paths(found.snapshot()) == {("a", None), ("b", None), ("c", None)}
    assert [(each.kind, each.version) for each in found.verify().problems] == [("spread-action", 1)]
    with pytest.raises(MalformedAction) as caught:
        table({0: START, 1: (add("c"), pretty[:-2])}).snapshot()
    assert caught.value.line == 2


@pytest.mark.conformance("LOG-007")
def test_two_documents_on_one_line_are_refused() -> None:
    with pytest.raises(MalformedAction):
        table({0: START, 1: (encode_line(add("b")) + encode_line(add("c")),)}).snapshot()


@pytest.mark.conformance("LOG-008")
def test_each_kind_of_action_is_known_by_its_key() -> None:
    commit = (
        Metadata(id="m", schema_string=SCHEMA, name="renamed"),
        add("b"),
        remove("a"),
        AddCDCFile(path="_change_data/c", size=1),
        TransactionAction(app_id="app", version=4),
        DomainMetadata(domain="d", configuration="{}"),
        CommitInfo(operation="MERGE"),
        b'{"protocol":{"minReaderVersion":1,"minWriterVersion":4}}',
    )
    found = table({0: START, 1: commit})
    snapshot = found.snapshot()
    assert paths(snapshot) == {("b", None)}
    assert snapshot.metadata.name == "renamed"
    assert snapshot.protocol.min_writer_version == 4
    assert snapshot.transactions == {"app": 4}
    assert snapshot.domain_metadata == {"d": "{}"}
    row = found.history(1).to_pylist()[0]
    assert (row["operation"], row["change_files"]) == ("MERGE", True)


@pytest.mark.conformance("LOG-009")
@pytest.mark.parametrize(
    "content",
    [
        lines([add("b")])[:-1],
        b"\n\n" + lines([add("b")]) + b"\n \n",
        lines([CommitInfo(operation="x"), add("b")]).replace(b"\n", b"\r\n"),
        b"\r\n" + lines([add("b")])[:-1] + b"\r",
    ],
    ids=["no last line end", "blank lines", "CRLF", "CRLF and a blank first line"],
)
def test_odd_line_ends_are_no_fault(content: bytes) -> None:
    found = table({0: START})
    found.store.put_if_absent(commit_name(1), content)
    found.refresh()
    assert paths(found.snapshot(1)) == {("a", None), ("b", None)}
    assert found.history().num_rows == 2


@pytest.mark.conformance("LOG-009")
@pytest.mark.parametrize("content", [b"", b"\n", b"  \r\n\n"])
def test_a_commit_without_actions_is_a_version_that_changes_nothing(content: bytes) -> None:
    store = new_store()
    store.put_if_absent(commit_name(1), content)
    found = table({0: START, 2: (add("c"),)}, store)
    assert paths(found.snapshot(1)) == paths(found.snapshot(0))
    assert paths(found.snapshot(2)) == {("a", None), ("c", None)}
    assert [row["version"] for row in found.history().to_pylist()] == [2, 1, 0]


def test_a_broken_action_after_blank_lines_is_named_by_its_line_in_the_file() -> None:
    with pytest.raises(MalformedAction) as caught:
        table({0: (b"", *START, b"", b'{"txn":{"appId":"a"}}')}).snapshot()
    assert caught.value.line == 6


@pytest.mark.conformance("LOG-010")
def test_no_line_of_a_torn_commit_takes_effect_anywhere() -> None:
    torn = lines([remove("a"), add("b")])[:-10]
    store = new_store()
    store.put_if_absent(commit_name(1), torn)
    found = table({0: START}, store)
    for ask in (found.snapshot, found.history, lambda: found.diff(0, 1), found.column_lineage):
        with pytest.raises(MalformedAction):
            ask()


@pytest.mark.conformance("LOG-011")
def test_a_checkpoint_after_a_hole_serves_its_version_and_later_ones_alone() -> None:
    commits = {version: (add(f"f{version}"),) for version in (1, 2, 4, 5)}
    store = new_store()
    files = [add("a"), *(add(f"f{version}") for version in range(1, 5))]
    write_checkpoint(store, 4, [PROTOCOL, METADATA, *files], "classic")
    found = table({0: START, **commits}, store)
    assert len(paths(found.snapshot(4))) == 5
    assert len(paths(found.snapshot(5))) == 6
    with pytest.raises((VersionGap, VersionNotFound)):
        found.snapshot(3)
    assert paths(found.snapshot(2)) == {("a", None), ("f1", None), ("f2", None)}


@pytest.mark.conformance("LOG-012", "LOG-013")
def test_a_version_that_was_cleaned_up_is_refused_with_the_range_that_is_left() -> None:
    store = new_store()
    write_checkpoint(store, 5, [PROTOCOL, METADATA, add("a")], "classic")
    found = table({5: (), 6: (add("b"),), 7: (add("c"),)}, store)
    assert found.version_range() == (5, 7)
    with pytest.raises(VersionNotFound, match="5 to 7") as caught:
        found.snapshot(4)
    assert (caught.value.earliest, caught.value.latest, caught.value.nearest) == (5, 7, 5)


@pytest.mark.conformance("LOG-014")
def test_an_earlier_version_is_read_from_its_commits_even_if_a_later_checkpoint_lies() -> None:
    store = new_store()
    write_checkpoint(store, 3, [PROTOCOL, METADATA, add("a lie")], "classic")
    found = table({0: START, **{version: (add(f"f{version}"),) for version in range(1, 5)}}, store)
    assert paths(found.snapshot(2)) == {("a", None), ("f1", None), ("f2", None)}


@pytest.mark.conformance("LOG-025")
def test_times_that_run_backwards_are_raised(tmp_path: Path) -> None:
    commits = {f"{version:020}.json": lines(START if not version else [add(f"f{version}")]) for version in range(4)}
    root = _on_disk(tmp_path / "t", commits)
    for version, seconds in enumerate((1000, 2000, 1500, 3000)):
        os.utime(root / "_delta_log" / f"{version:020}.json", (seconds, seconds))
    found = explorer.open_table(root)
    times = [row["timestamp"] for row in reversed(found.history().to_pylist())]
    assert [time.timestamp() for time in times] == [1000, 2000, 2000.001, 3000]
    assert found.snapshot(timestamp=datetime.fromtimestamp(2000, UTC)).version == 1
    assert found.snapshot(timestamp=datetime.fromtimestamp(2500, UTC)).version == 2
    assert found.snapshot(2).timestamp == times[2]
