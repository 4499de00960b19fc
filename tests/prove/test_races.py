"""Many processes commit to one table at once: each commit is there once, or its writer was told that it lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.prove.conftest import Dose
from tests.prove.racers.race import OURS, check_race, new_race, race


@pytest.mark.timeout(3600)
@pytest.mark.conformance("LOG-002", "LOG-005", "LOG-006", "LOG-023", "TXN-007")
def test_a_race_on_the_local_disk(tmp_path: Path, dose: Dose, record_property: Callable[[str, object], None]) -> None:
    location = (tmp_path / "table").as_uri()
    table = new_race(location, {})
    told = race(location, {}, [(OURS, dose.commits)] * dose.racers)
    record_property("found", dict(check_race(table, told, 1)))


@pytest.mark.whole("the race on the local disk, and that with deltalake on S3")
@pytest.mark.timeout(3600)
@pytest.mark.conformance("LOG-002", "LOG-005", "LOG-006", "LOG-023", "TXN-007")
def test_a_race_on_s3(bucket: dict[str, str], dose: Dose, record_property: Callable[[str, object], None]) -> None:
    table = new_race("s3://races/ours", bucket)
    told = race("s3://races/ours", bucket, [(OURS, dose.commits)] * dose.racers)
    record_property("found", dict(check_race(table, told, 1)))


@pytest.mark.whole("test_a_race_on_the_local_disk")
@pytest.mark.interop
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("place", ["disk", "s3"])
def test_a_race_with_deltalake(place: str, tmp_path: Path, dose: Dose, request: pytest.FixtureRequest) -> None:
    options: dict[str, str] = request.getfixturevalue("bucket") if place == "s3" else {}
    location = "s3://races/mixed" if place == "s3" else (tmp_path / "table").as_uri()
    table = new_race(location, options)
    others = max(1, dose.racers // 4)
    racers = [(OURS, dose.commits)] * (dose.racers - others) + [
        ("tests.prove.racers.other_racer", dose.commits)
    ] * others
    told = race(location, options, racers)
    request.node.user_properties.append(("found", dict(check_race(table, told, 1))))
