"""Tables that the catalog of a Spark session names, in a session that has the reference's catalog."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.reference_writer import ReferenceWriter

pytestmark = pytest.mark.whole("test_intents_side_by_side.py, where the reference's tables are opened by their folder")

ASKED = """
import explorer

for statement in {statements!r}:
    spark.sql(statement)
answer = []
for name in {names!r}:
    try:
        table = explorer.open_table(name, spark=spark)
        answer.append((name, table.location, str(table.snapshot().num_records)))
    except explorer.ExplorerError as error:
        answer.append((name, type(error).__name__, str(error)))
answer = spark.createDataFrame(answer, "name string, found string, said string")
"""


@pytest.mark.interop
@pytest.mark.spark
def test_a_table_is_opened_by_its_name_in_the_catalog(reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    folders = {"plain": "plain", "spaced": "with a space", "signed": "percent%20sign"}
    places = {name: tmp_path / folder for name, folder in folders.items()}
    made = [
        f"CREATE TABLE default.{name} USING delta LOCATION '{folder}' AS SELECT id FROM range({rows})"
        for rows, (name, folder) in enumerate(places.items(), 3)
    ]
    made += [
        f"CREATE TABLE default.files USING parquet LOCATION '{tmp_path / 'files'}' AS SELECT 1 AS id",
        "CREATE VIEW default.seen AS SELECT 1 AS id",
        "CREATE TABLE default.managed USING delta AS SELECT id FROM range(7)",
    ]
    names = ["default.plain", "spark_catalog.default.spaced", "default.`signed`", "default.managed"]
    names += [
        "default.files",
        "default.seen",
        "default.nowhere",
        "nowhere.plain",
        "a b; DROP TABLE default.plain",
        "default.",
    ]
    asked = reference_writer.python(ASKED.format(statements=made, names=names))
    found = {row["name"]: (row["found"], row["said"]) for row in asked.to_pylist()}
    for rows, (name, folder) in enumerate(places.items(), 3):
        full = next(each for each in names if name in each)
        assert found[full] == (folder.as_uri(), str(rows)), full
    assert found["default.managed"][1] == "7"
    assert found["default.files"][0] == "RequestError"
    assert "is a parquet table" in found["default.files"][1]
    assert found["default.seen"][0] == "RequestError"
    assert "is a view" in found["default.seen"][1]
    assert found["default.nowhere"][0] == "TableNotFound"
    assert found["nowhere.plain"][0] == "TableNotFound"
    assert found["a b; DROP TABLE default.plain"][0] == "TableNotFound"
    assert found["default."][0] == "RequestError"
