"""Features that the audit calls unused, and what delta-spark does when it drops them.

It drops each at once, without rewriting a file, and reads the same rows after; where it says that something of the
table uses the feature, the audit must not call it unused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

import explorer
from explorer.core.compatibility.access import requirements
from explorer.core.protocol.table_features import supported_features
from tests.support.at_least_one import at_least_one
from tests.support.clients.reference_writer import ReferenceRefused, ReferenceWriter
from tests.support.dose import WHOLE_DOSE

pytestmark = pytest.mark.interop

# Each feature: what makes a table that uses it, and what makes one that only lists it.
FEATURES: Final[dict[str, tuple[str, str]]] = {
    "checkConstraints": (
        "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id >= 0)",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.checkConstraints' = 'supported')",
    ),
    "deletionVectors": (
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true'); DELETE FROM {t} WHERE id = 3",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.deletionVectors' = 'supported')",
    ),
    "columnMapping": (
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.columnMapping' = 'supported')",
    ),
}
EVERY_RUN: Final = ("checkConstraints",)
_CREATE: Final = "CREATE TABLE {t} (id BIGINT) USING delta"


def _made(writer: ReferenceWriter, path: Path, statements: str) -> str:
    name = f"delta.`{path}`"
    for statement in (_CREATE, "INSERT INTO {t} SELECT id FROM range(0, 10, 1, 1)", *statements.split("; ")):
        writer.sql(statement.format(t=name))
    return name


def _is_unused(path: Path, feature: str) -> bool:
    snapshot = explorer.open_table(path).snapshot()
    assert feature in supported_features(snapshot.protocol)
    masked = any(file is not None for file in snapshot.files(["dv_unique_id"]).column(0).to_pylist())
    return feature in requirements(snapshot.protocol, snapshot.metadata, has_vectors=masked).unused


def _drop(writer: ReferenceWriter, name: str, feature: str) -> str:
    """Drop a feature; the condition under which it is refused, empty if it is not."""
    try:
        writer.sql(f"ALTER TABLE {name} DROP FEATURE {feature}")
    except ReferenceRefused as error:
        return str(error.condition)
    return ""


def _live(path: Path) -> list[str]:
    return sorted(explorer.open_table(path).snapshot().files(["path"]).column(0).to_pylist())


@pytest.mark.whole("tests/golden/test_reference_commits.py")
@pytest.mark.parametrize("feature", FEATURES if WHOLE_DOSE else EVERY_RUN)
def test_what_is_said_to_be_unused_the_reference_drops_and_changes_no_file(
    reference_writer: ReferenceWriter, tmp_path: Path, feature: str
) -> None:
    name = _made(reference_writer, tmp_path / "listed", FEATURES[feature][1])
    path = tmp_path / "listed"
    before, rows = _live(path), reference_writer.rows(path).num_rows
    assert _is_unused(path, feature)
    refused = _drop(reference_writer, name, feature)
    # Of a reader feature it waits until no version that needs the feature can be read.
    is_listed = feature in supported_features(explorer.open_table(path).snapshot().protocol)
    assert is_listed is bool(refused)
    assert refused == "" or "HISTORICAL" in refused or "WAIT_FOR_RETENTION" in refused
    assert (_live(path), reference_writer.rows(path).num_rows) == (before, rows)


@pytest.mark.whole("tests/golden/test_reference_commits.py")
@pytest.mark.parametrize("feature", FEATURES if WHOLE_DOSE else EVERY_RUN)
def test_what_the_reference_will_not_drop_as_it_is_or_rewrites_is_not_said_to_be_unused(
    reference_writer: ReferenceWriter, tmp_path: Path, feature: str
) -> None:
    name = _made(reference_writer, tmp_path / "used", FEATURES[feature][0])
    path = tmp_path / "used"
    assert not _is_unused(path, feature)
    before = explorer.open_table(path).snapshot()
    _drop(reference_writer, name, feature)
    after = explorer.open_table(path).snapshot()
    changed = [
        before.metadata != after.metadata,
        before.files(["path", "dv_unique_id"]).to_pylist() != after.files(["path", "dv_unique_id"]).to_pylist(),
        feature in supported_features(after.protocol),
    ]
    assert any(changed)


@pytest.mark.whole("the other tests of this file")
def test_a_constraint_in_another_case_is_used_for_both(reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    name = _made(reference_writer, tmp_path, FEATURES["checkConstraints"][0])
    for commit in at_least_one(sorted((tmp_path / "_delta_log").glob("*.json"))):
        lines = [json.loads(line) for line in commit.read_text("utf-8").splitlines()]
        for line in lines:
            found = line.get("metaData", {}).get("configuration", {})
            if "delta.constraints.c" in found:
                found["DELTA.Constraints.C"] = found.pop("delta.constraints.c")
        commit.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    for checksum in (tmp_path / "_delta_log").glob("*.crc"):
        checksum.unlink()
    reference_writer.forget()
    assert not _is_unused(tmp_path, "checkConstraints")
    with pytest.raises(ReferenceRefused, match="constraint"):
        reference_writer.sql(f"ALTER TABLE {name} DROP FEATURE checkConstraints")
