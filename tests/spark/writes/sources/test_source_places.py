"""Where the rows of an intent are read from: the one file or folder that is named, and nothing that a pattern adds."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.errors import InvalidIntent
from explorer.spark.engine.session import engine
from explorer.spark.writes.source import source_frame
from explorer.spark.writes.source_files import SourcePlace

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]


def rows_at(place: Path) -> list[int]:
    return [row["id"] for row in source_frame(engine().session(), SourcePlace.of(str(place))).toArrow().to_pylist()]


def written(file: Path, value: int) -> Path:
    pq.write_table(pa.table({"id": pa.array([value], pa.int64())}), file)
    return file


def test_a_source_with_characters_of_patterns_is_that_file_alone(tmp_path: Path) -> None:
    written(tmp_path / "ab.parquet", 1)
    assert rows_at(written(tmp_path / "a*.parquet", 2)) == [2]
    assert rows_at(written(tmp_path / "{a,ab}.parquet", 3)) == [3]


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("pattern", ["*.parquet", "{ab,c}.parquet", "[a]b.parquet", "?b.parquet"])
def test_a_pattern_that_names_no_file_is_refused(tmp_path: Path, pattern: str) -> None:
    written(tmp_path / "ab.parquet", 1)
    with pytest.raises(InvalidIntent, match="patterns are not expanded"):
        rows_at(tmp_path / pattern)


def test_a_source_that_spark_would_skip_is_refused(tmp_path: Path) -> None:
    for name in ("_a.parquet", ".a.parquet"):
        with pytest.raises(InvalidIntent, match="Spark skips a source of this name"):
            rows_at(written(tmp_path / name, 1))
    (tmp_path / "link.parquet").symlink_to(tmp_path / "b.parquet")
    written(tmp_path / "b.parquet", 2)
    assert rows_at(tmp_path / "link.parquet") == [2]
