"""Other readers beside ours: same live files, same rows of each, or a reason why one of them reads otherwise.

The delta-kernel wrapper and DuckDB share the kernel of delta-kernel-rs; deltalake is delta-rs. Rows are counted here by
the footers of the data files less what deletion vectors mask, so statistics of the log are held to them too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

import delta_kernel_rust_sharing_wrapper as kernel
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

import explorer
from explorer.core.errors import ExplorerError
from tests.support.clients.other_readers import duckdb_connection
from tests.support.shared_tables import golden_root, reference_root

pytestmark = [pytest.mark.interop, pytest.mark.golden, pytest.mark.reference]

FOLDERS = {path.name: path for root in (golden_root(), reference_root()) for path in (root / "tables").iterdir()}

GEO: Final = "'geospatial' is not supported|Unsupported Delta table type: 'geo"
VOID: Final = "Unsupported Delta table type: 'void'"
SHREDDED: Final = "might be shredded"
FEATURE: Final = "Unsupported table features required"
NO_FILE: Final = "[Nn]ot found|No such file|less than footer|Cannot open file|file length is 1"
REFUSED_BY: Final[dict[tuple[str, str], str]] = {
    # The table lists a feature that the reader does not implement; files of rows need none of it.
    **dict.fromkeys([("kernel", "protocol-features"), ("duckdb", "protocol-features")], GEO),
    **dict.fromkeys([("deltalake files", "protocol-features"), ("deltalake rows", "protocol-features")], GEO),
    ("kernel", "kernelrs__void-column"): VOID,
    ("duckdb", "kernelrs__void-column"): VOID,
    ("kernel", "delta__spark-variant-stats-state-reconstruction"): SHREDDED,
    ("kernel", "delta__spark-variant-stats-with-struct-no-checkpoint"): SHREDDED,
    ("deltalake rows", "generated-columns"): FEATURE,
    ("deltalake rows", "delta__basic-with-vacuum-protocol-check-feature"): FEATURE,
    ("deltalake rows", "delta__kdef-spark-shredded-variant-preview-delta"): FEATURE,
    ("deltalake rows", "delta__spark-variant-stats-state-reconstruction"): FEATURE,
    ("deltalake rows", "delta__spark-variant-stats-with-struct-no-checkpoint"): FEATURE,
    ("deltalake rows", "delta__type-widening"): FEATURE,
    ("deltalake rows", "deltars__spark-shredded-variant-preview-delta"): FEATURE,
    ("deltalake rows", "kernelrs__type-widening"): FEATURE,
    # The collection holds the log of these tables and their data files, but not their deletion vectors.
    **{
        (reader, f"delta__spark-table-with-dv-{name}"): NO_FILE
        for reader in ("kernel", "duckdb", "deltalake rows")
        for name in ("small", "special-char")
    },
}
"""(reader, table) -> what the reader says where it does not read a table that we read."""

WRONG: Final = {
    # A file is added as /some/unqualified/absolute/path and removed as file:///some/unqualified/absolute/path. That is
    # one path written twice (REPLAY-003 after URI canonicalisation), so no file is live, as the reference has it. The
    # others compare the texts, keep the file, and look for it in vain.
    "kernelrs__gold-canonicalized-paths-normal-a": {"kernel", "duckdb", "deltalake files", "deltalake rows"},
}
"""Tables that other readers read wrongly, by reader."""


class Ours:
    """What we say of a table's newest version.

    Attributes:
        version: Its number.
        stated: Physical rows of each live file as its statistics say, None where they do not.
        masked: Rows of each that its deletion vector hides.
        rows: The others, by the footers; None where a file was not collected.
    """

    def __init__(self, folder: Path) -> None:
        snapshot = explorer.open_table(folder).snapshot()
        live = snapshot.files(["path", "num_records", "dv_cardinality"]).to_pylist()
        self.version = snapshot.version
        self.stated: dict[str, int | None] = {row["path"]: row["num_records"] for row in live}
        self.masked = {row["path"]: row["dv_cardinality"] or 0 for row in live}
        data = {path: _data_file(folder, path) for path in self.stated}
        there = all(path.is_file() and path.stat().st_size > 1 for path in data.values())
        self.rows = {path: _footer_rows(data[path]) - self.masked[path] for path in data} if there else None

    @property
    def count(self) -> int:
        """Rows of all files, by the footers where they are there."""
        if self.rows is not None:
            return sum(self.rows.values())
        return sum((rows or 0) - self.masked[path] for path, rows in self.stated.items())

    def as_said_by(self, reader: str) -> Any:
        """The same in the form in which a reader says it."""
        match reader:
            case "kernel":
                return self.version, self.count
            case "duckdb":
                # Files of which no row is left show nowhere.
                return {path: rows for path, rows in (self.rows or {}).items() if rows}
            case "deltalake files":
                return Counter(list(self.stated))
            case _:
                return self.count


@cache
def ours(name: str) -> Ours | None:
    """What we say, None where we refuse the table, or its rows."""
    try:
        explorer.open_table(str(FOLDERS[name])).snapshot().require_schema()
        return Ours(FOLDERS[name])
    except ExplorerError:
        return None


def _kernel(folder: Path) -> tuple[int, int]:
    engine = kernel.PythonInterface(folder.as_uri())
    snapshot = kernel.Table(folder.as_uri()).snapshot(engine)
    batches = kernel.ScanBuilder(snapshot).build().execute(engine)
    return snapshot.version(), sum(batch.num_rows for batch in batches)


def _duckdb(folder: Path) -> dict[str, int]:
    query = f"select filename, count(*) from delta_scan('{folder}', filename=true) group by all"
    return {_relative(folder, path): rows for path, rows in duckdb_connection().execute(query).fetchall()}


def _deltalake_files(folder: Path) -> Counter[str]:
    return Counter(_relative(folder, path) for path in DeltaTable(folder).file_uris())


def _deltalake_rows(folder: Path) -> int:
    found = QueryBuilder().register("t", DeltaTable(folder)).execute("select count(*) from t")
    count: int = pa.table(found.read_all()).column(0)[0].as_py()
    return count


READERS: Final[dict[str, Callable[[Path], Any]]] = {
    "kernel": _kernel,
    "duckdb": _duckdb,
    "deltalake files": _deltalake_files,
    "deltalake rows": _deltalake_rows,
}
"""What each reader says of a table's newest version: version and rows, rows by file, files, rows."""


def test_statistics_count_the_rows_that_the_data_files_hold() -> None:
    """Where the files are there and their statistics say how many rows they hold."""
    looked_at = set()
    for name in FOLDERS:
        expected = ours(name)
        if expected is not None and expected.rows is not None:
            counted = {path: rows - expected.masked[path] for path, rows in expected.stated.items() if rows is not None}
            assert counted == {path: expected.rows[path] for path in counted}, name
            looked_at |= {name} if counted else set()
    assert len(looked_at) > len(FOLDERS) / 2


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("reader", READERS)
def test_each_reader_agrees_or_is_known_not_to(reader: str, name: str) -> None:
    expected = ours(name)
    try:
        found, refusal = READERS[reader](FOLDERS[name]), None
    except Exception as error:  # noqa: BLE001 - each reader has errors of its own kind
        found, refusal = None, str(error)
    if expected is None:
        assert refusal is not None, f"{reader} reads what we refuse: {found}"
    elif (reader, name) in REFUSED_BY:
        assert refusal is not None, f"{reader} reads this table by now: {found}"
        assert re.search(REFUSED_BY[reader, name], refusal), refusal
    elif reader in WRONG.get(name, ()):
        assert found != expected.as_said_by(reader), f"{reader} reads this table right by now"
    elif expected.rows is None and refusal is not None:
        # Rows need the files themselves, which were not collected for every table.
        assert re.search(NO_FILE, refusal), refusal
    else:
        assert refusal is None, refusal
        assert found == expected.as_said_by(reader)


def _data_file(folder: Path, path: str) -> Path:
    return folder / path.removeprefix("file://").removeprefix("file:")


def _footer_rows(path: Path) -> int:
    with pq.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def _relative(folder: Path, shown: str) -> str:
    """The path of a file in a table; readers show it decoded, below the folder with or without its first slash."""
    for prefix in (f"{folder}/", f"{folder}/".lstrip("/")):
        if shown.startswith(prefix):
            return shown.removeprefix(prefix)
    return shown
