"""Each notebook, executed: what it says is held against the rows that the warehouse's writer put there, and its log.

Rows come from `demo_build`, what commits did from the log's own lines, replayed by `WrittenLog` and checked by
deltalake. A small dose runs the nine in one kernel, with all names cleared between them; the whole dose gives each its
own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.notebooks.places import jupyter_places
from tests.notebooks.rendering import COMMAND, PAGES, code_of
from tests.notebooks.stories import NOTEBOOKS, Executed, Kernel, java_is_there, names, read, running_kernel
from tests.notebooks.written_log import WrittenLog, cardinality
from tests.support.dose import WHOLE_DOSE

pytestmark = pytest.mark.sampled(tests=10)

Build = tuple[Path, dict[str, dict[int, pa.Table]]]
Run = Callable[[str], Executed]
WIDGET = "application/vnd.jupyter.widget-view+json"
ERASED = "C-00417"
NAMES = [
    "1-tour",
    "2-last-night",
    "3-rename",
    "4-deletion-vectors",
    "5-slow-query",
    "6-time-travel",
    "7-guarded-change",
    "8-erasure",
    "9-lake-audit",
]

needs_java = pytest.mark.skipif(not java_is_there(), reason="Spark needs Java 17 or 21, and there is none.")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, demo_warehouse: Path) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("stories")
    before = _files(demo_warehouse)
    with jupyter_places(folder, demo_warehouse):
        yield folder
    assert _files(demo_warehouse) == before, "a notebook changed the demo warehouse"


@pytest.fixture(scope="module")
def kernel(home: Path) -> Iterator[Kernel]:
    with running_kernel(home) as started:
        yield started


@pytest.fixture
def run(home: Path, request: pytest.FixtureRequest) -> Run:
    """Execute a notebook, and refuse it if a cell failed or wrote to stderr."""

    def executed(name: str) -> Executed:
        if WHOLE_DOSE:
            with running_kernel(home) as fresh:
                found = fresh.run(name)
        else:
            found = request.getfixturevalue("kernel").run(name)
        assert found.failures() == {}
        assert found.noise() == {}
        return found

    return executed


@pytest.fixture(scope="module")
def orders_log(demo_warehouse: Path) -> WrittenLog:
    return WrittenLog(demo_warehouse / "sales" / "orders")


@pytest.mark.whole("test_widget_in_lab.py, which runs the tour, and tests/jupyter/test_traits.py")
@pytest.mark.notebook
@pytest.mark.spark
def test_tour_shows_the_newest_version_and_links_two_widgets(run: Run, demo_build: Build) -> None:
    written = demo_build[1]["sales/orders"]
    last = max(written)
    story = run("1-tour")
    assert story.said("open") == f"orders: versions 0 to {last}\n"
    assert f"{written[last].num_rows:,} rows" in story.shown("snapshot")
    assert [f for f in written[last].column_names if f not in story.shown("snapshot")] == []
    lines = story.said("history").splitlines()
    assert len(lines) == 12
    for line in lines:
        version, added, lost = map(int, re.findall(r"^v(\d+) .* \+(\d+) +-(\d+)", line)[0])
        assert written[version - 1].num_rows + added - lost == written[version].num_rows, line
    assert story.result("explore")[WIDGET]["model_id"] != story.result("linked")[WIDGET]["model_id"]
    assert story.said("drive").splitlines()[-1] == "seen: [30] shown: 30"
    assert "10000" in story.said("drive")
    assert "orders, v30" in story.shown("linked")
    assert f"+{written[30].num_rows:,} \u2212{written[29].num_rows:,} rows" in story.shown("diff")
    if java_is_there():
        dear = written[last].filter(pc.greater(written[last]["amount"], 350)).sort_by("order_id").slice(0, 5)
        assert _cells(story.said("rows")) == [[str(value) for value in row.values()] for row in _rows(dear)]


@pytest.mark.whole("tests/core/versions/test_diff_facts.py, and test_lake_audit_ranks_the_broken_table_first")
@pytest.mark.notebook
def test_last_night_finds_the_overwrite_and_the_restore(run: Run, demo_build: Build, orders_log: WrittenLog) -> None:
    written = demo_build[1]["sales/orders"]
    [restore] = orders_log.made_by("RESTORE")
    story = run("2-last-night")
    found = re.findall(r"^v(\d+) .* ([\d,]+) rows", story.said("commits"), re.MULTILINE)
    live = {int(version): int(rows.replace(",", "")) for version, rows in found}
    assert live == {version: written[version].num_rows for version in range(restore - 1, restore + 2)}
    assert story.said("whole") == "files that differ: 0\n"
    assert orders_log.live[restore].keys() == orders_log.live[restore - 2].keys()
    between = [f"v{v}, {written[v].num_rows:,} rows" for v in range(restore - 2, restore + 1)]
    assert [line.partition(": ")[2] for line in story.said("between").splitlines()] == between
    loads = {v: _gained(written, v) for v in range(1, len(written)) if _by(orders_log, v) == "etl@shop.example"}
    numbers = f"{loads[restore + 1]:,} rows; other nights {min(loads.values()):,} to {max(loads.values()):,}"
    assert story.said("load") == f"v{restore + 1}: {numbers}\n"
    [alarm] = map(json.loads, story.said("tripwire").splitlines())
    assert (alarm["version"], alarm["author"]) == (restore - 1, _by(orders_log, restore - 1))


@pytest.mark.whole("tests/core/versions/test_diff_facts.py, and test_lake_audit_ranks_the_broken_table_first")
@pytest.mark.notebook
def test_rename_follows_columns_and_not_names(run: Run, demo_build: Build) -> None:
    folder, builds = demo_build
    written, log = builds["crm/customers"], WrittenLog(folder / "crm" / "customers")
    last = max(written)
    story = run("3-rename")
    assert set(story.said("lines").splitlines()) == set(_changed_names(log, last))
    email = story.said("email").splitlines()
    for line, version in zip(email, (2, last), strict=True):
        assert repr(pc.min(written[version]["email"]).as_py()) in line
    assert re.findall(r"of (\d+) files", "".join(email)) == [str(len(log.live[2])), str(len(log.live[last]))]
    for version, line in enumerate(story.said("swap").splitlines(), 6):
        names_then = sorted({"first_name", "given", "last_name"} & set(written[version].column_names))
        assert line == f"v{version}: { {name: pc.min(written[version][name]).as_py() for name in names_then} }"
    renamed = {log.info(v)["operationParameters"]["newColumnPath"]: v for v in log.made_by("RENAME COLUMN")}
    assert f"contact_email: v{renamed['contact_email']}, RENAME COLUMN by eva@shop.example" in story.said("blame")
    assert f"first_name: v{renamed['first_name']}, " in story.said("blame")
    assert "DuckDB delta extension" in story.said("clients")
    assert story.said("right").count("SELECT email") == 2
    assert story.said("right").endswith(f"v{last}: SELECT contact_email\n")


@pytest.mark.whole("tests/core/protocol/test_deletion_vectors.py, and test_lake_audit_ranks_the_broken_table_first")
@pytest.mark.notebook
def test_deletion_vectors_add_up_to_the_hidden_rows_of_the_log(run: Run, orders_log: WrittenLog) -> None:
    story = run("4-deletion-vectors")
    found = re.findall(r"^v(\d+) .* (\d[\d,]*) in all$", story.said("debt"), re.MULTILINE)
    hidden = [orders_log.hidden(version) for version in range(len(orders_log.commits))]
    changed = [(v, count) for v, count in enumerate(hidden) if count != (hidden[v - 1] if v else 0)]
    assert [(int(version), int(count.replace(",", ""))) for version, count in found] == changed
    erased = next(v for v in orders_log.made_by("DELETE") if ERASED in str(orders_log.info(v)))
    assert f"{hidden[erased] - hidden[erased - 1]} more rows hidden" in story.shown("erased")
    most = max((line["add"] for line in orders_log.commits[erased] if "add" in line), key=cardinality)
    earlier = cardinality(orders_log.live[erased - 1][most["path"]])
    rows = json.loads(most["stats"])["numRecords"]
    assert f"{cardinality(most)} of {rows:,} rows are hidden, {earlier} of them before\n" in story.said("positions")
    [add] = [add for add in orders_log.live[-1].values() if cardinality(add)]
    rows = json.loads(add["stats"])["numRecords"]
    assert story.said("now").startswith(f"{cardinality(add)} of {rows:,} rows hidden")
    assert f"files with wide bounds: 1 of {len(orders_log.live[-1])}\n" in story.said("now")
    assert story.said("plan") == f"1 file to write again, {add['size']:,} bytes\n"


@pytest.mark.whole("tests/spark/scan/test_pruning.py, and test_lake_audit_ranks_the_broken_table_first")
@needs_java
@pytest.mark.notebook
@pytest.mark.spark
def test_slow_query_counts_files_as_their_statistics_do(run: Run, demo_warehouse: Path) -> None:
    live = list(WrittenLog(demo_warehouse / "web" / "events").live[-1].values())
    stats = [json.loads(add["stats"]) for add in live]
    story = run("5-slow-query")
    kept = [int(count) for count in re.findall(r"(\d+) of \d+ files", story.said("predicates"))]
    assert kept == [
        sum(add["partitionValues"]["country"] == "T\u00fcrkiye" for add in live),
        sum(add["partitionValues"]["country"] == "Germany" for add in live),
        sum(each["minValues"]["event_id"] < 10_000 for each in stats),
        sum(each["minValues"]["page"] <= "/cart" <= each["maxValues"]["page"] for each in stats),
        len(live),
    ]
    assert "agent        statistics in   0" in story.said("coverage")
    assert story.said("small").startswith(
        f"{len(live)} files, {sum(a['size'] for a in live) / len(live) / 1000:.1f} kB"
    )
    assert story.shown("commit").startswith("committed as v39")
    before, after = (_files_per_question(story.said(cell)) for cell in ("overlap", "after"))
    assert after["customer_id"] < before["customer_id"] / 2
    assert after["order_id"] > before["order_id"]


@pytest.mark.whole("tests/spark/changes/test_row_diff.py, and test_lake_audit_ranks_the_broken_table_first")
@needs_java
@pytest.mark.notebook
@pytest.mark.spark
def test_time_travel_tells_what_changed(run: Run, demo_build: Build, orders_log: WrittenLog) -> None:
    written = demo_build[1]["sales/orders"]
    story = run("6-time-travel")
    assert story.said("time").startswith(f"v3: {written[3].num_rows:,} rows, columns order_id, cust, ")
    kept = _kept_by_a_vacuum(orders_log)
    assert f"readable: {len(kept)} versions, v{kept[0]} to v{kept[-1]}\n" in story.said("retention")
    assert f"at risk: {len(written) - len(kept)} versions, v1 to v" in story.said("retention")
    counts = [pc.sum(pc.equal(written[v]["customer_id"], ERASED)).as_py() for v in (22, 23)]
    assert story.said("rows") == f"v22: {counts[0]} rows\nv23: {counts[1]} rows\n"
    assert "change feed was off" in story.said("feed")
    assert _cells(story.said("inferred")) == [[str(v), kind, str(n)] for v, kind, n in _changes(written, (9, 10, 11))]
    shown = _cells(story.said("one"))
    assert [row[2] for row in shown] == ["update_postimage", "update_preimage"] * 2
    for order, status, kind, _ in shown:
        rows = written[11 if kind == "update_postimage" else 10]
        assert rows.filter(pc.equal(rows["order_id"], int(order)))["status"].to_pylist() == [status]


@pytest.mark.whole("tests/e2e/tabs/test_changes.py, and test_lake_audit_ranks_the_broken_table_first")
@needs_java
@pytest.mark.notebook
@pytest.mark.spark
def test_guarded_change_refuses_then_commits(run: Run, demo_build: Build) -> None:
    written = demo_build[1]["sales/orders"]
    rows, last = written[max(written)], max(written)
    lost = rows.filter(pc.equal(rows["status"], "lost"))
    assert lost.num_rows > 0
    story = run("7-guarded-change")
    assert story.shown("constraint").startswith("A plan that is blocked")
    assert f"{lost.num_rows:,} of {rows.num_rows:,} rows do not satisfy it" in story.said("evidence")
    examples = [int(number) for number in re.findall(r"'order_id': '(\d+)'", story.said("evidence"))]
    assert len(examples) == 3
    assert set(examples) <= set(lost["order_id"].to_pylist())
    assert "a commit of this plan is rejected\n" in story.said("evidence")
    assert story.shown("update").startswith(f"committed as v{last + 1}")
    assert story.said("again") == "committable: True\n"
    assert story.shown("again").startswith(f"committed as v{last + 2}")
    assert "typeWidening" in story.said("widen")
    assert "delta-rs (python deltalake)" in story.said("upgrade")
    assert [line.split()[:2] for line in story.said("agree").splitlines()[:2]] == [
        [f"v{last + 3}", "committed:"],
        [f"v{last + 4}", "committed:"],
    ]
    assert story.said("agree").splitlines()[-1] == "long"
    assert [line.split()[0] for line in story.said("history").splitlines()] == [f"v{last + n}" for n in (4, 3, 2, 1)]


@pytest.mark.whole("tests/auditing/erasure, and test_lake_audit_ranks_the_broken_table_first")
@needs_java
@pytest.mark.notebook
@pytest.mark.spark
def test_erasure_finds_every_copy_that_a_raw_search_finds(run: Run, demo_build: Build, orders_log: WrittenLog) -> None:
    folder, builds = demo_build
    written = builds["sales/orders"]
    rows, last = written[max(written)], max(written)
    physical = {logical: stored for stored, logical in orders_log.names(last).items()}["customer_id"]
    files = [file for file in (folder / "sales" / "orders").rglob("*.parquet") if "_delta_log" not in file.parts]
    stored = {file.name: pq.read_table(file, columns=[physical])[physical] for file in files}
    copies = {name: pc.sum(pc.equal(values, ERASED)).as_py() or 0 for name, values in stored.items()}
    story = run("8-erasure")
    assert [line.split()[:2] for line in story.said("open").splitlines()] == [["v23", "DELETE"], ["v25", "REORG"]]
    totals = {state: int(count) for state, count in re.findall(r"^(\w+) +(\d+)$", story.said("proof"), re.MULTILINE)}
    assert totals["live"] == pc.sum(pc.equal(rows["customer_id"], ERASED)).as_py() > 0
    assert totals["masked"] + totals["live"] == sum(copies[path] for path in orders_log.live[last])
    assert sum(totals.values()) == sum(copies.values())
    places = re.findall(r" rows (\d+), v\d+ to \w+, (\S+)$", story.said("places"), re.MULTILINE)
    assert {path: int(count) for count, path in places} == {path: count for path, count in copies.items() if count}
    traces = [version for version, lines in enumerate(orders_log.commits) if ERASED in json.dumps(lines[0])]
    assert [int(number) for number in re.findall(r"_delta_log/(\d{20})\.json", story.said("trace"))] == traces
    assert story.said("steps").startswith("1. delete: ")
    assert story.said("limits").count("\n- ") > 1


@pytest.mark.notebook
def test_lake_audit_ranks_the_broken_table_first(run: Run, demo_build: Build) -> None:
    folder, builds = demo_build
    story = run("9-lake-audit")
    ranked = [line.split()[0] for line in story.said("open").splitlines()]
    assert ranked[0] == "archive/sensors-damaged"
    assert set(ranked) == builds.keys()
    readable = builds["archive/sensors-damaged"]
    assert story.said("broken").startswith("MalformedAction: ")
    assert story.said("broken").endswith(f"v{max(readable)} can be read: {readable[max(readable)].num_rows} rows\n")
    assert "first_name at v8; last_name at v9; email at v5" in story.shown("worst")
    sizes = {}
    for name in ranked[1:]:
        adds = DeltaTable(folder / name).get_add_actions()
        files = adds.column("size_bytes").to_pylist()
        sizes[name.split("/")[1]] = (len(files), f"{sum(files) / len(files) / 1000:.1f}")
    told = re.findall(r"^(\w+) +(\d+) files, +([\d.]+) kB", story.said("size"), re.MULTILINE)
    assert {name: (int(count), size) for name, count, size in told} == sizes
    assert story.said("checked") == "unchanged: True\nunchanged: False\n"


def test_each_notebook_is_run_and_holds_no_outputs() -> None:
    assert names() == NAMES
    for path in NOTEBOOKS.glob("*.ipynb"):
        story = json.loads(path.read_text("utf-8"))
        cells = [cell for cell in story["cells"] if cell["cell_type"] == "code"]
        assert [cell["id"] for cell in cells if cell["outputs"] or cell["execution_count"] is not None] == []
        assert "widgets" not in story["metadata"]
        assert path.stat().st_size < 16_000


@pytest.mark.parametrize("name", NAMES)
def test_page_in_the_documents_has_the_code_and_the_words_of_the_notebook(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text("utf-8")
    cells = read(name).cells
    renew = f"docs/notebooks/{name}.md is not what the notebook is: run {COMMAND}"
    assert code_of(page) == [cell.source for cell in cells if cell.cell_type == "code"], renew
    assert [cell.source for cell in cells if cell.cell_type == "markdown" and cell.source not in page] == [], renew
    assert len(page) < 20_000


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Each file with its size and the time of its last change."""
    found = {path.relative_to(folder).as_posix(): path.stat() for path in folder.rglob("*") if path.is_file()}
    return {name: (status.st_size, status.st_mtime_ns) for name, status in found.items()}


def _by(log: WrittenLog, version: int) -> str:
    return str(log.info(version)["userName"])


def _gained(written: dict[int, pa.Table], version: int) -> int:
    return int(written[version].num_rows - written[version - 1].num_rows)


def _rows(table: pa.Table) -> list[dict[str, object]]:
    found: list[dict[str, object]] = table.select(["order_id", "customer_id", "amount"]).to_pylist()
    return found


def _cells(shown: str) -> list[list[str]]:
    """The cells of a table as Spark prints it, without its head."""
    lines = [line for line in shown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def _changed_names(log: WrittenLog, last: int) -> list[str]:
    """Per column its names, with the versions in which it had them: those that changed or came later."""
    lines = []
    for column in {physical for version in range(last + 1) for physical in log.names(version)}:
        spans: list[list[int | str]] = []
        for version in range(last + 1):
            name = log.names(version).get(column)
            if name is not None and spans and spans[-1][0] == name:
                spans[-1][2] = version
            elif name is not None:
                spans.append([name, version, version])
        if len(spans) > 1 or spans[0][1]:
            lines.append(" then ".join(f"{name} (v{first} to v{end})" for name, first, end in spans))
    return lines


def _files_per_question(said: str) -> dict[str, int]:
    return {name: int(count) for name, count in re.findall(r"^(\w+) = .*? (\d+) of \d+ files", said, re.MULTILINE)}


def _kept_by_a_vacuum(log: WrittenLog) -> list[int]:
    """The versions that need nothing that left the table more than a week before the notebook's present."""
    last = len(log.commits) - 1
    times = [datetime.fromtimestamp(log.info(version)["timestamp"] / 1000, UTC) for version in range(last + 1)]
    present = times[last] + timedelta(hours=6)
    needs = [{part for add in live.values() for part in _parts(add)} for live in log.live]
    last_needed = {part: version for version, parts in enumerate(needs) for part in parts}
    old = {part for part, v in last_needed.items() if v < last and times[v + 1] + timedelta(days=7) < present}
    return [version for version in range(last + 1) if not needs[version] & old]


def _parts(add: dict[str, Any]) -> list[str]:
    """What a file needs: itself, and its deletion vector if it has one."""
    vector = add.get("deletionVector")
    return [add["path"]] + ([vector["pathOrInlineDv"]] if vector else [])


def _changes(written: dict[int, pa.Table], versions: tuple[int, ...]) -> list[tuple[int, str, int]]:
    """What changed by key, from the rows that each version should hold; ascending by version and kind."""
    found = []
    for version in versions:
        before, after = ({row["order_id"]: row for row in written[v].to_pylist()} for v in (version - 1, version))
        updated = sum(before[key] != after[key] for key in before.keys() & after.keys())
        counts = {
            "delete": len(before.keys() - after.keys()),
            "insert": len(after.keys() - before.keys()),
            "update_postimage": updated,
            "update_preimage": updated,
        }
        found += [(version, kind, count) for kind, count in counts.items() if count]
    return found
