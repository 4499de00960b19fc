"""The reference writer and ours commit to one table at once: each commit is there once, or its writer was told."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.versions.retention.missing_files import data_locations
from tests.prove.racers.race import OURS, Told, check_race, new_race, race
from tests.prove.racers.row_race import check as check_rows
from tests.prove.racers.row_race import new_race as new_row_race
from tests.prove.racers.row_racer import PARTITIONS, run
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.dose import WHOLE_DOSE

pytestmark = [
    pytest.mark.interop,
    pytest.mark.spark,
    pytest.mark.whole(
        "tests/prove/test_races.py, where deltalake is the other writer, and tests/prove/test_row_races.py"
    ),
]

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


CHANGES = """
import json, random
pick, told = random.Random("reference"), []
for turn in range(turns):
    p, rest, mark, outcome = pick.choice("abcd"), pick.randrange(5), f"spark {turn}", "committed"
    what = pick.choice(["append", "delete", "update"])
    rows = [[9_000_000 + 10 * turn + number, p, 0] for number in range(3)]
    where = f"p = '{p}' AND id % 5 = {rest}"
    statement = {
        "append": f"INSERT INTO delta.`{path}` VALUES " + ", ".join(f"({n}, '{p}', {v})" for n, p, v in rows),
        "delete": f"DELETE FROM delta.`{path}` WHERE {where}",
        "update": f"UPDATE delta.`{path}` SET v = v + 1 WHERE {where}",
    }[what]
    spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", mark)
    try:
        found = spark.sql(statement).collect()
        if what != "append" and not found[0][0]:
            outcome = "rejected"
    except Exception as error:
        outcome = f"{type(error).__name__} {error}"
    told.append((json.dumps({"what": what, "p": p, "rest": rest, "rows": rows, "id": mark}), outcome))
spark.conf.unset("spark.databricks.delta.commitInfo.userMetadata")
answer = spark.createDataFrame(told, "what string, outcome string")
"""


@pytest.mark.timeout(3600)
@pytest.mark.conformance("LOG-005", "LOG-023", "DV-022")
def test_a_race_of_changes_of_rows_with_the_reference_writer(
    reference_writer: ReferenceWriter,
    spark_engine: object,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """In the order of the versions, what each of the two was told gives the rows of the table."""
    folder = tmp_path / "table"
    table = new_row_race(folder.as_uri(), {}, masks=True)
    reference_writer.sql(f"SELECT count(*) FROM delta.`{folder}`")
    turns, commits = (60, 60) if WHOLE_DOSE else (3, 3)
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(reference_writer.python, CHANGES, path=str(folder), turns=turns)
        told = list(run(table, "racer 0", commits))
        answers = theirs.result().to_pylist()
    lost = [each["outcome"] for each in answers if each["outcome"] not in {"committed", "rejected"}]
    assert all("DELTA_CONCURRENT" in why or "Concurrent" in why for why in lost), lost
    told += [{**json.loads(each["what"]), "outcome": each["outcome"]} for each in answers]
    opened = explorer.open_table(folder)
    # Of a change that it lost the reference leaves the new rows and the vectors, of each partition; we leave nothing.
    record_property("found", dict(check_rows(opened, told, orphans=2 * len(PARTITIONS) * len(lost))))
    named = set(data_locations(opened.history_record().lifetimes))
    left = [key for key in opened.store.list_tree() if key.endswith(".parquet") and "_delta_log" not in key]
    makers = {pq.read_metadata(folder / unquote(key)).created_by.split()[0] for key in left if key not in named}
    assert makers <= {"parquet-mr"}
    theirs_now = Counter(tuple(row.values()) for row in reference_writer.rows(folder).to_pylist())
    assert theirs_now == Counter(tuple(row.values()) for row in opened.rows().toArrow().to_pylist())


@pytest.mark.timeout(3600)
@pytest.mark.conformance("LOG-002", "LOG-005", "LOG-023")
def test_a_race_with_the_reference_writer(
    reference_writer: ReferenceWriter, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    folder = tmp_path / "table"
    location = folder.as_uri()
    table = new_race(location, {})
    reference_writer.sql(f"SELECT count(*) FROM delta.`{folder}`")
    inserts, commits, racers = (50, 150, 3) if WHOLE_DOSE else (4, 12, 2)
    with ThreadPoolExecutor(1) as pool:
        theirs = pool.submit(reference_writer.python, INSERTS, path=str(folder), inserts=inserts)
        told: list[Told] = race(location, {}, [(OURS, commits)] * racers)
        answers = theirs.result().to_pylist()
    for each in answers:
        outcome = "committed" if each["outcome"] == "committed" else "conflicted"
        told.append({"what": "append", "id": each["id"], "outcome": outcome, "version": None, "rows": 3, "why": each})
    record_property("found", dict(check_race(table, told, 1)))
    rows = reference_writer.rows(folder).num_rows
    assert rows == explorer.open_table(location).snapshot().num_records
