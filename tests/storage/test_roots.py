"""Places that a program was given, and rows that are to be read from elsewhere: patterns, links, schemes, dots."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import NotAllowed
from explorer.new_table import new_table
from explorer.storage import open_store
from explorer.storage.roots import AllowedRoots
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, write


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A served folder with a source in it, and a secret beside it."""
    root = tmp_path / "served"
    for name in ("in.csv", "rows/part.parquet", "a:b/part.parquet"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"rows")
    (tmp_path / "secret.csv").write_bytes(b"secret")
    (tmp_path / "secrets").mkdir()
    (root / "links").mkdir()
    (root / "links" / "inner.csv").symlink_to(root / "in.csv")
    (root / "leading").mkdir()
    (root / "leading" / "part.csv").symlink_to(tmp_path / "secret.csv")
    (root / "out").symlink_to(tmp_path / "secrets")
    return root


def test_sources_inside_the_places_are_allowed(served: Path) -> None:
    roots = AllowedRoots([str(served), "s3://warehouse/served"])
    for inside in ("in.csv", "rows", "a:b", "links"):
        roots.check_source(f"{served}/{inside}")
        roots.check_source((served / inside).as_uri().replace("%3A", ":"))
    roots.check_source("s3://warehouse/served/new.parquet")


@pytest.mark.parametrize(
    "source",
    [
        "/etc/passwd",
        "{served}/../secret.csv",
        "{served}/rows/../../secret.csv",
        "{served}/out",
        "{served}/out/anything.csv",
        "{served}/leading",
        "{served}/*",
        "{served}/{../secret.csv}",
        "{served}/[.][.]",
        "{served}/in.csv\x00",
        "{served}/\\../secret.csv",
        "file:{served}/in.csv",
        "FILE://{served}/in.csv",
        "file://host{served}/in.csv",
        "file:///{served}/in.csv",
        "hdfs:/in.csv",
        "hdfs://host/in.csv",
        "http://host/in.csv",
        "jar:file:{served}/in.csv!/x",
        "s3://warehouse/other.parquet",
        "s3://warehouse/served/../other.parquet",
        "s3a://warehouse/served/new.parquet",
    ],
)
def test_rows_from_elsewhere_are_not_appended(served: Path, source: str) -> None:
    write(open_store(served / "table"), {0: (PROTOCOL, METADATA, add("a"))})
    table = explorer.open_table(served / "table", roots=[str(served), "s3://warehouse/served"])
    wanted = source.replace("{served}", str(served))
    with pytest.raises(NotAllowed) as caught:
        table.plan({"kind": "append", "source": wanted})
    assert caught.value.field == "source"


def test_a_relative_source_that_looks_like_a_scheme_is_no_folder_here(served: Path) -> None:
    before = Path.cwd()
    os.chdir(served)
    try:
        AllowedRoots([str(served)]).check_source("in.csv")
        with pytest.raises(NotAllowed):
            AllowedRoots([str(served)]).check_source("hdfs:in.csv")
    finally:
        os.chdir(before)


@pytest.mark.parametrize("place", ["{served}/../new", "{served}/out/new", "/var/new", "file:///etc/new"])
def test_no_table_is_made_outside_the_places(served: Path, place: str) -> None:
    with pytest.raises(NotAllowed):
        new_table(place.replace("{served}", str(served)), roots=[str(served)])
    assert new_table(served / "new", roots=[str(served)]).roots is not None
