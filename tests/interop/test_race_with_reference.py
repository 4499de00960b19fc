"""The reference writer and ours commit to one table at once: each commit is there once, or its writer was told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import explorer
from tests.prove.race import OURS, Told, check_race, new_race, race
from tests.support.dose import WHOLE_DOSE
from tests.support.reference_writer import ReferenceWriter

pytestmark = [pytest.mark.interop, pytest.mark.spark]

INSERTS = """
told = []
for number in range(inserts):
    spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", f"spark {number}")
    try:
        spark.sql(f"INSERT INTO delta.`{path}` SELECT id FROM range(3)")
        told.append((f"spark {number}", "committed"))
    except Exception as error:
        told.append((f"spark {number}", f"{type(error).__name__} {error}"))
spark.conf.unset("spark.databricks.delta.commitInfo.userMetadata")
answer = spark.createDataFrame(told, "id string, outcome string")
"""


@pytest.mark.timeout(3600)
@pytest.mark.conformance("LOG-002", "LOG-005", "LOG-023")
def test_a_race_with_the_reference_writer(reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    folder = tmp_path / "table"
    location = folder.as_uri()
    table = new_race(location, {})
    reference_writer.sql(f"SELECT count(*) FROM delta.`{folder}`")
    inserts, commits = (50, 150) if WHOLE_DOSE else (4, 12)
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(reference_writer.python, INSERTS, path=str(folder), inserts=inserts)
        told: list[Told] = race(location, {}, [(OURS, commits)] * 3)
        answers = theirs.result().to_pylist()
    for each in answers:
        outcome = "committed" if each["outcome"] == "committed" else "conflicted"
        told.append({"what": "append", "id": each["id"], "outcome": outcome, "version": None, "rows": 3, "why": each})
    print(check_race(table, told, 1), [each["outcome"] for each in answers if each["outcome"] != "committed"])
    rows = reference_writer.rows(folder).num_rows
    assert rows == explorer.open_table(location).snapshot().num_records
