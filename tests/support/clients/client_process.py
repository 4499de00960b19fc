"""Other clients of Delta tables: each way to read and to append, here or in a process of its own.

This file imports nothing of ours, so that an environment that holds an older release of a client runs it as it is:
``python client_process.py WAY`` takes a JSON object a line, ``{"folder", "rows", "answer"}``, and gives one back, with
an ``error`` in it if the client refused. Rows come and go as files of Arrow's stream format.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa

WAYS = ("deltalake", "deltalake to_pyarrow", "duckdb", "kernel")


def read(way: str, folder: str) -> pa.Table:
    """The rows of the newest version, whatever the client raises."""
    match way:
        case "deltalake":
            return _by_deltalake(folder)
        case "deltalake to_pyarrow":
            from deltalake import DeltaTable

            return DeltaTable(folder).to_pyarrow_table()
        case "duckdb":
            return _by_duckdb(folder)
        case _:
            import delta_kernel_rust_sharing_wrapper as kernel

            place = Path(folder).as_uri()
            engine = kernel.PythonInterface(place)
            return kernel.ScanBuilder(kernel.Table(place).snapshot(engine)).build().execute(engine).read_all()


def append(way: str, folder: str, rows: pa.Table) -> None:
    """Append rows that have the table's columns, whatever the client raises."""
    if way == "duckdb":
        connection = duckdb_connection()
        # Whatever becomes of it, the next table has another database.
        duckdb_connection.cache_clear()
        connection.register("added", rows)
        connection.execute(f"attach '{folder}' as appended (type delta)")
        connection.execute("insert into appended select * from added")
        connection.close()
        return
    import deltalake

    deltalake.write_deltalake(folder, rows, mode="append")


def _by_duckdb(folder: str) -> pa.Table:
    import duckdb

    try:
        return duckdb_table(f"from delta_scan('{folder}')")
    except duckdb.NotImplementedException:
        # It reads variants, and has no form for them in Arrow.
        return duckdb_table(f"select columns(*)::varchar from delta_scan('{folder}')")


def duckdb_table(query: str) -> pa.Table:
    """The rows of a query; a fault of DuckDB's own ends its database, so the next query begins another."""
    import duckdb

    try:
        return duckdb_connection().execute(query).to_arrow_table()
    except (duckdb.InternalException, duckdb.FatalException):
        duckdb_connection.cache_clear()
        raise


def _by_deltalake(folder: str) -> pa.Table:
    import deltalake

    table = deltalake.DeltaTable(folder)
    if not hasattr(deltalake, "QueryBuilder"):
        return table.to_pyarrow_table()
    found = deltalake.QueryBuilder().register("t", table).execute("select * from t")
    if hasattr(found, "read_all"):
        return pa.table(found.read_all())
    # Older releases give batches, of which there is none if there is no row.
    batches = found.fetchall()
    return pa.Table.from_batches(batches) if batches else table.schema().to_pyarrow().empty_table()


@cache
def duckdb_connection() -> Any:
    """The process's connection, with the delta extension that was installed beside it; loading it takes long."""
    import duckdb

    (extension,) = Path(str(files("duckdb_extension_delta"))).rglob("delta.duckdb_extension")
    connection = duckdb.connect()
    connection.load_extension(str(extension))
    connection.execute("set timezone = 'UTC'")
    # Every read is of the files as they are now.
    connection.execute("set enable_external_file_cache = false")
    return connection


def _main(way: str) -> None:
    # What a client prints goes where errors go: the answers stand alone.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        answer: dict[str, str] = {}
        try:
            if asked["rows"]:
                with pa.OSFile(asked["rows"]) as source:
                    rows = pa.ipc.open_stream(source).read_all()
                # Copied: of what lies in a stream an older arrow-rs takes no decimal that begins between 16 bytes.
                append(way, asked["folder"], rows.take(pa.array(range(rows.num_rows), pa.int64())))
            else:
                found = read(way, asked["folder"])
                with pa.OSFile(asked["answer"], "wb") as sink, pa.ipc.new_stream(sink, found.schema) as stream:
                    stream.write_table(found)
        except BaseException as error:  # noqa: BLE001  # a panic of Rust is no Exception
            answer["error"] = f"{type(error).__name__}: {error}"
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    _main(sys.argv[1])
