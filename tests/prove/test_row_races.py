"""Many writers change the rows of one table at once: in the order of the versions they give exactly its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

import explorer
from tests.prove.racers.race import race
from tests.prove.racers.row_race import Told, check, new_race
from tests.prove.racers.row_racer import PARTITIONS, SCHEMA, run
from tests.support.clients.connect_server import connect_server
from tests.support.dose import WHOLE_DOSE

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600)]


def appends_of_deltalake(location: str, options: dict[str, str], number: int, commits: int) -> Iterator[Told]:
    """Another writer, which appends."""
    for turn in range(commits):
        first, mark = 1_000_000 * (number + 1) + 1_000 * turn, f"deltalake {number}-{turn}"
        rows = [[first + place, PARTITIONS[turn % 4], 0] for place in range(3)]
        data = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)
        properties = CommitProperties(custom_metadata={"racer": mark}, max_commit_retries=200)
        outcome = "committed"
        try:
            write_deltalake(_opened(location, options), data, mode="append", commit_properties=properties)
        except CommitFailedError:
            outcome = "conflicted"
        yield {"what": "append", "rows": rows, "id": mark, "outcome": outcome, "racer": "deltalake"}


def _opened(location: str, options: dict[str, str]) -> DeltaTable:
    """Open the table, once the listing of a folder that others write to shows no gap."""
    while True:
        try:
            return DeltaTable(location.removeprefix("file://"), storage_options=options or None)
        except DeltaError as error:
            if "found gap" not in str(error) and "CRC file version" not in str(error):
                raise


@pytest.mark.whole("the case disk-False", cases=["s3-True"])
@pytest.mark.usefixtures("spark_engine")
@pytest.mark.conformance("LOG-002", "LOG-005", "LOG-023", "DV-022")
@pytest.mark.parametrize(("place", "masks"), [("disk", False), ("s3", True), *([("disk", True)] if WHOLE_DOSE else [])])
def test_a_race_of_changes_of_rows(place: str, masks: bool, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    writers, commits, others = (15, 20, 1) if WHOLE_DOSE else (2, 3, 1)
    options: dict[str, str] = request.getfixturevalue("bucket") if place == "s3" else {}
    location = f"s3://races/rows-{masks}" if place == "s3" else (tmp_path / "table").as_uri()
    new_race(location, options, masks=masks)

    def ours(number: int) -> list[Told]:
        table = explorer.open_table(location, storage_options=options or None)
        return list(run(table, f"racer {number}", commits))

    def theirs(number: int) -> list[Told]:
        # deltalake writes no table with deletion vectors.
        return [] if masks else list(appends_of_deltalake(location, options, number, commits))

    jobs: list[tuple[Callable[[int], list[Told]], int]] = [(ours, number) for number in range(writers)]
    jobs += [(theirs, writers + number) for number in range(others)]
    with ThreadPoolExecutor(len(jobs)) as pool:
        told = [each for found in pool.map(lambda job: job[0](job[1]), jobs) for each in found]
    table = explorer.open_table(location, storage_options=options or None)
    lost = sum(each["outcome"] != "committed" for each in told if "racer" in each)
    outcomes = check(table, told, orphans=lost)
    assert any(name.endswith(" committed") for name in outcomes)
    request.node.user_properties.append(("found", dict(outcomes)))


@pytest.mark.skipif(not WHOLE_DOSE, reason="takes minutes: only under make prove; threads race in every run")
@pytest.mark.parametrize("place", ["disk", "s3"])
def test_a_race_of_processes_that_change_rows(
    place: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, spark_engine: object
) -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs the packages of pyspark[connect]")
    options: dict[str, str] = request.getfixturevalue("bucket") if place == "s3" else {}
    location = "s3://races/processes" if place == "s3" else (tmp_path / "table").as_uri()
    new_race(location, options, masks=True)
    with connect_server(tmp_path) as address:
        monkeypatch.setenv("DELTA_EXPLORER_SPARK", address)
        told = race(location, options, [("tests.prove.racers.row_racer", 10)] * 16)
    outcomes = check(explorer.open_table(location, storage_options=options or None), told)
    request.node.user_properties.append(("found", dict(outcomes)))
