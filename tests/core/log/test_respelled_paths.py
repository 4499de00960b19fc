"""Paths of one file that actions spell with other escapes: clients that compare URIs read the file otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import explorer
from explorer.core.protocol.file_paths import other_spelling
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, Line, add, new_store, remove, write

PLAIN, ESCAPED = add("d=1/a.parquet", 10), add("d%3D1/a.parquet", 10)
PLAIN_GONE, ESCAPED_GONE = remove("d=1/a.parquet"), remove("d%3D1/a.parquet")


def _table(*commits: Sequence[Line]) -> explorer.Table:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA), **dict(enumerate(commits, 1))})
    return explorer.Table(store)


@pytest.mark.parametrize(
    ("commits", "here", "elsewhere"),
    [
        ([[PLAIN, ESCAPED]], 10, 20),
        ([[PLAIN], [ESCAPED]], 10, 20),
        ([[ESCAPED], [PLAIN_GONE]], 0, 10),
        ([[PLAIN], [ESCAPED_GONE]], 0, 10),
        ([[ESCAPED], [PLAIN_GONE, PLAIN]], 10, 20),
    ],
)
def test_both_counts_are_an_error_of_the_version_and_of_the_audit(
    commits: list[Sequence[Line]], here: int, elsewhere: int
) -> None:
    table = _table(*commits)
    found = table.snapshot().contested
    assert found is not None
    assert (found.rows, found.other_rows, table.snapshot().num_records) == (here, elsewhere, here)
    for text in (f"reads {here} row", f"read {elsewhere} row", "delta-spark", "another spelling of the path"):
        assert text in found.message
    finding = next(each for each in table.audit().findings if each.rule == "contested-files")
    assert (finding.severity, finding.remedy is not None) == ("error", True)


@pytest.mark.parametrize(
    "commits",
    [
        [[PLAIN], [PLAIN_GONE]],
        [[PLAIN], [PLAIN]],
        [[ESCAPED], [PLAIN_GONE], [ESCAPED_GONE]],
        [[add("d%3d1/a.parquet", 10)], [ESCAPED_GONE]],
        [[add("/other/a.parquet", 10)], [remove("file:///other/a.parquet")]],
    ],
)
def test_one_spelling_and_spellings_that_all_clients_take_for_one_are_no_disagreement(
    commits: list[Sequence[Line]],
) -> None:
    assert _table(*commits).snapshot().contested is None


def test_escapes_decide_and_neither_their_case_nor_the_local_scheme() -> None:
    assert other_spelling("a%20b", "a b")
    assert other_spelling("s3://b/a", "s3a://b/a")
    assert not other_spelling("a%3ab", "a%3Ab")
    assert not other_spelling("FILE://localhost/a", "/a")


@pytest.mark.conformance("PATH-004")
@pytest.mark.parametrize(
    ("commits", "here", "elsewhere"),
    [
        # Of each, delta-spark 4.4.0 reads as many rows as are read here, and delta-kernel and DuckDB the others.
        ([[add("d//a.parquet", 10), add("d/a.parquet", 10)]], 10, 20),
        ([[add("./a.parquet", 10)], [add("a.parquet", 10)]], 10, 20),
        ([[add("d/../a.parquet", 10)], [remove("a.parquet")]], 0, 10),
        ([[add("d/a.parquet", 10)], [remove("d/./a.parquet")]], 0, 10),
    ],
)
def test_segments_that_are_empty_or_dots_are_no_other_file(
    commits: list[list[Line]], here: int, elsewhere: int
) -> None:
    table = _table(*commits)
    found = table.snapshot().contested
    assert table.snapshot().num_records == here
    assert found is not None
    assert (found.rows, found.other_rows) == (here, elsewhere)
    assert "delta-kernel" in found.message
    assert found.message.count("Do not rely on") == 1


ODD_SEGMENTS = [
    [[add("d//a.parquet", 10)], [remove("d/a.parquet")]],
    [[add("d/a.parquet", 10)], [remove("d/./a.parquet")]],
    [[add("d/../a.parquet", 10)], [add("b.parquet", 5)], [remove("a.parquet")]],
    [[add("./a.parquet", 10)], [add("a.parquet", 10)], [add("a%2eparquet", 10)]],
    # Many, of which one is odd: texts of one length are looked at together.
    [[add("d/./a.parquet", 10), *(add(f"d/{name}.parquet", 1) for name in range(300))], [remove("d/a.parquet")]],
]


@pytest.mark.parametrize("commits", ODD_SEGMENTS)
def test_every_version_of_the_history_has_the_files_of_its_snapshot(commits: list[list[Line]]) -> None:
    table = _table(*commits)
    rows = table.history().to_pylist()
    snapshots = [table.snapshot(row["version"]) for row in rows]
    assert [(row["num_files"], row["num_rows"]) for row in rows] == [
        (snapshot.num_files, snapshot.num_records) for snapshot in snapshots
    ]


@pytest.mark.parametrize("path", ["./part-00:00.parquet", "d/../p=a:b/f.parquet", "a/..//c:d//e.parquet"])
def test_a_name_with_a_colon_behind_a_dot_is_no_scheme(path: str) -> None:
    name = path.split("/", 1)[1].replace("../", "").replace("//", "/").removeprefix("/")
    table = _table([add(path, 10)])
    assert table.snapshot().files(["path"])["path"].to_pylist() == [name]
    assert table.history().to_pylist()[0]["num_files"] == 1
    assert _table([add(path, 10)], [remove(path)]).snapshot().num_files == 0


@pytest.mark.parametrize(
    "path", ["./a.parquet", "d//a.parquet", "d/../a.parquet", "d%2f%2fa.parquet", "./part-00:00.parquet"]
)
def test_a_file_has_one_path_in_a_commit_and_in_a_checkpoint(path: str) -> None:
    store = new_store()
    write_checkpoint(store, 1, [PROTOCOL, METADATA, add(path, 10)], "classic")
    paths = [
        table.snapshot().files(["path"])["path"].to_pylist()
        for table in (_table([add(path, 10)]), explorer.Table(store))
    ]
    assert paths[0] == paths[1]


@pytest.mark.parametrize("path", ["./a.parquet", "d//a.parquet", "d/../a.parquet"])
def test_a_checkpoint_is_read_as_its_commits(path: str) -> None:
    store = new_store()
    write_checkpoint(store, 1, [PROTOCOL, METADATA, add(path, 10)], "classic")
    write(store, {2: [remove("d/a.parquet" if "//" in path else "a.parquet")]})
    assert explorer.Table(store).snapshot().num_files == 0
