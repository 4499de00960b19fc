"""A survey of many tables: one row each, whatever they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import RequestError
from explorer.fleet import audits
from explorer.fleet.spark_tasks import SCHEMA, survey, survey_row
from explorer.storage.served_root import ServedRoot
from tests.support.comparison.audited_tables import NOW
from tests.support.folder_s3 import folder_s3
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write_log
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


@pytest.mark.reference
def test_every_table_is_a_row_and_broken_ones_say_why(tmp_path: Path) -> None:
    names = ["append-only", "checkpoint-multipart", "deletion-vectors", "vacuum"]
    # As the survey names them: a folder that a link leads to by its own name.
    places = [str((reference_root() / "tables" / name).resolve()) for name in names]
    broken = tmp_path / "broken" / "_delta_log"
    broken.mkdir(parents=True)
    (broken / f"{0:020}.json").write_text("{")
    asked = [*places, str(tmp_path / "broken"), str(tmp_path / "nothing"), places[0]]
    found = survey(asked, verify=True).result(120)
    assert found.schema.names == SCHEMA.names
    assert found.column("location").to_pylist() == asked
    assert found.column("error").to_pylist() == [None] * 4 + ["MalformedAction", "TableNotFound", None]
    for row, place in zip(found.to_pylist(), places, strict=False):
        snapshot = explorer.open_table(place).snapshot()
        expected = (snapshot.version, snapshot.num_files, snapshot.size_in_bytes, snapshot.num_records)
        assert expected == (row["version"], row["num_files"], row["size_in_bytes"], row["num_records"])
        assert row == survey_row(place, verify=True)
    assert "deletionVectors" in found.column("features").to_pylist()[2]


def test_an_audit_in_tasks_tells_two_servers_with_one_address_apart(tmp_path: Path) -> None:
    write_log(tmp_path / "one" / "lake" / "t", [[PROTOCOL, METADATA]])
    write_log(tmp_path / "two" / "lake" / "t", [[PROTOCOL, METADATA], [add("a")]])
    with folder_s3(tmp_path / "one") as one, folder_s3(tmp_path / "two") as two:
        roots = [ServedRoot("s3://lake", storage_options=server.options) for server in (one, two)]
        found = list(audits(roots, spark=True))
    assert [(each.location, each.document and each.document.version) for each in found] == [
        ("s3://lake/t", 0), ("s3://lake/t", 1),
    ]  # fmt: skip


@pytest.mark.whole("test_every_table_is_a_row_and_broken_ones_say_why")
def test_the_program_that_is_sent_to_workers_is_whole(tmp_path: Path) -> None:
    """In a process that has nothing else of it."""
    from explorer.spark.engine.shipped import package

    root = write_table(tmp_path / "t", [column("id", "long")], [DataFile("a.parquet", pa.table({"id": [1, 2]}))])
    asked = f"""
import explorer
from explorer.fleet.spark_tasks import survey_row
print(explorer.__file__, survey_row({str(root)!r}, verify=True))
print("audited:", len(explorer.open_table({str(root)!r}).audit().silent))
"""
    answer = subprocess.run(
        [sys.executable, "-P", "-c", asked],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": package()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.startswith(f"{package()}/explorer/__init__.py")
    assert "'num_records': 2" in answer.stdout
    assert "'error': None" in answer.stdout
    assert re.search(r"audited: \d\d", answer.stdout), answer.stdout


def test_nothing_to_look_at_and_what_no_task_can_see(tmp_path: Path) -> None:
    assert survey([]).result(60).num_rows == 0
    with pytest.raises(RequestError, match="memory"):
        survey(["memory://x/y"])
    outside = survey([tmp_path / "t"], roots=[str(tmp_path / "only here")], storage_options={"aws_secret": "s3cr3t"})
    assert outside.result(60).column("error").to_pylist() == ["NotAllowed"]


def test_an_audit_in_tasks_answers_as_one_here_does(tmp_path: Path) -> None:
    write_table(tmp_path / "t", [column("id", "long")], [DataFile("a.parquet", pa.table({"id": [1, 2]}))])
    (tmp_path / "broken" / "_delta_log").mkdir(parents=True)
    here, there = (
        {each.location: (each.document, type(each.error), str(each.error)) for each in audits([tmp_path], **more)}
        for more in ({"now": NOW}, {"now": NOW, "spark": True})
    )
    assert here == there
    assert [kind.__name__ for _, kind, _ in here.values()] == ["TableNotFound", "NoneType"]
