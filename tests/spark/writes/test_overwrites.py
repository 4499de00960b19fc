"""Rows overwritten and files optimized by intents, beside what the reference did with the same commands."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import ExplorerError
from explorer.spark.engine.session import engine
from explorer.spark.scan.scan import scan
from tests.support.dose import some_of
from tests.support.golden_expectations import expected
from tests.support.reference_steps import Step, copy_before, reference_commit
from tests.support.row_content import content_hash, row_lines
from tests.support.shared_tables import reference_root
from tests.support.spark_tables import column, write_table

pytestmark = [pytest.mark.spark, pytest.mark.reference, pytest.mark.usefixtures("spark_engine")]

ROOT = reference_root()
_OPTIMIZE: Final = re.compile(r"OPTIMIZE delta\.`<TABLE>`(?: WHERE (.*?))?(?: ZORDER BY \((.*)\))?")
_FRAME: Final = re.compile(
    r"spark\.createDataFrame\((.*?)\)\.write\.format\('delta'\)\.mode\('overwrite'\)(.*)\.save\(path\)"
)
_OPTION: Final = re.compile(r"\.option\('(\w+)','(.*?)'\)")
_VALUES: Final = re.compile(r"INSERT OVERWRITE delta\.`<TABLE>` (VALUES .*|SELECT .*)")


def _steps() -> Iterator[Any]:
    known = expected(ROOT)
    for path in sorted((ROOT / "steps").glob("*.json")):
        latest, dynamic = -1, False
        gone = {record["version"] for record in known[path.stem]["versions"] if "error" in record}
        for number, step in enumerate(json.loads(path.read_text())):
            version = step["version"]
            text = step.get("sql") or step["python"]
            dynamic = (
                dynamic or "partitionOverwriteMode=dynamic" in text
            ) and "partitionOverwriteMode=static" not in text
            intent = _intent(text)
            before = latest if version is None else version - 1
            latest = latest if version is None else version
            if intent is not None and not dynamic and before not in gone:
                found = Step(path.stem, number, before, version, text, intent, step.get("error"))
                yield pytest.param(found, id=found.name)


def _intent(text: str) -> dict[str, Any] | None:
    if (optimize := _OPTIMIZE.fullmatch(text)) is not None:
        where = {} if optimize[1] is None else {"where": optimize[1]}
        order = {} if optimize[2] is None else {"zOrderBy": optimize[2].split(", ")}
        return {"kind": "optimize", **where, **order}
    if _VALUES.fullmatch(text) is not None:
        return {"kind": "overwrite", "source": "rows"}
    frame = _FRAME.fullmatch(text)
    options = {} if frame is None else dict(_OPTION.findall(frame[2]))
    if frame is None or "overwriteSchema" in options or "partitionBy" in frame[2] or "mergeSchema" in options:
        return None
    intent: dict[str, Any] = {"kind": "overwrite", "source": "rows"}
    if "replaceWhere" in options:
        intent["where"] = options["replaceWhere"]
    if options.get("partitionOverwriteMode") == "dynamic":
        intent["partitions"] = True
    return intent


def _rows(table: explorer.Table, step: Step) -> Any:
    session = engine().session()
    if (frame := _FRAME.fullmatch(step.text)) is not None:
        rows, schema = ast.literal_eval(f"({frame[1]})")
        return session.createDataFrame(rows, schema)
    found = _VALUES.fullmatch(step.text)
    return None if found is None else session.sql(found[1]).toDF(*(f.name for f in table.snapshot().schema.fields))


@pytest.mark.parametrize("step", some_of(list(_steps()), 14))
def test_an_overwrite_or_optimization_of_the_reference_leaves_the_same_rows(step: Step, tmp_path: Path) -> None:
    table = explorer.open_table(copy_before(ROOT, step, tmp_path, with_data=True))
    if step.version is None:
        try:
            plan = table.plan(step.intent, rows=_rows(table, step))
        except ExplorerError:
            assert step.error is not None
        else:
            assert not plan.committable
        return
    result = table.commit(table.plan(step.intent, rows=_rows(table, step), user="steward"))
    assert (result.outcome, result.version) == ("committed", step.version)
    wanted = next(record for record in expected(ROOT)[step.table]["versions"] if record["version"] == step.version)
    assert content_hash(scan(table, table.snapshot()).to_arrow(readable=True)) == wanted["content_hash"]
    same = explorer.open_table(ROOT / "tables" / step.table)
    if same.snapshot(step.version).row_tracking.enabled and step.intent["kind"] == "optimize":
        ours, theirs = (each.rows(step.version, row_identity=True).toArrow() for each in (table, same))
        lines = [sorted(row_lines(rows.drop_columns(["_file", "_row_index"]))) for rows in (ours, theirs)]
        assert lines[0] == lines[1]
    ours, theirs = [dict(action) for action in result.plan.actions], reference_commit(ROOT, step)
    infos = [lines[0]["commitInfo"] for lines in (ours, theirs)]
    for name in ("operation", "isolationLevel", "isBlindAppend", "tags"):
        assert infos[0].get(name) == infos[1].get(name), name
    assert infos[0]["operationParameters"].keys() == infos[1]["operationParameters"].keys()
    assert sorted(line["remove"]["path"] for line in ours if "remove" in line) == sorted(
        line["remove"]["path"] for line in theirs if "remove" in line
    )
    for kind in ("add", "remove"):
        changes = [{line[kind]["dataChange"] for line in lines if kind in line} for lines in (ours, theirs)]
        assert changes[0] == changes[1]


def test_a_curve_lets_a_reader_skip_most_files_by_either_column(tmp_path: Path) -> None:
    path = write_table(tmp_path / "t", [column("x", "integer"), column("y", "integer")], [])
    rows = pa.table({"x": [n % 64 for n in range(4096)], "y": [n // 64 for n in range(4096)]})
    rows = rows.cast(pa.schema([("x", pa.int32()), ("y", pa.int32())]))
    table = explorer.open_table(path)
    assert table.commit(table.plan({"kind": "append", "source": "rows"}, rows=rows)).outcome == "committed"
    size = table.snapshot().size_in_bytes
    assert size is not None
    plan = table.plan({"kind": "optimize", "zOrderBy": ["x", "y"], "targetSize": size // 16 + 1})
    assert table.commit(plan).outcome == "committed"
    files = [pq.read_table(Path(path) / name) for name in table.snapshot().files().column("path").to_pylist()]
    assert len(files) >= 8
    assert sorted(row_lines(pa.concat_tables(files))) == sorted(row_lines(rows))
    for name in ("x", "y"):
        ranges = [(min(file.column(name).to_pylist()), max(file.column(name).to_pylist())) for file in files]
        read = sum(low <= value <= high for value in range(64) for low, high in ranges)
        assert read / 64 < len(files) / 2, f"a filter on {name} skips more than half of the files"
