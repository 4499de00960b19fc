"""Tables as pages rarely meet them: very wide, very long, of one commit, nested, with gaps, broken, hostile."""

from __future__ import annotations

import json
from pathlib import Path

from explorer.core.protocol.actions import Metadata
from tests.support.logs import hostile_tables
from tests.support.logs.small_logs import METADATA, PROTOCOL, Line, add, commit_info, metadata, remove, write_log

__all__ = ["ODD_TABLES", "write_odd_tables"]

ODD_TABLES = ("wide", "long", "one", "nested", "gap", "hostile", "broken", "future", "empty")

WIDE = 2_000
LONG = 10_000


def write_odd_tables(root: Path) -> None:
    """Write the `ODD_TABLES` below a folder."""
    columns = {f"measurement_of_sensor_{number:04}_in_hall": "double" for number in range(WIDE)}
    bounds = dict.fromkeys(list(columns)[:32], (0.5, 9.5))
    files = [add(f"{number}.parquet", 10, bounds=bounds) for number in range(3)]
    write_log(
        root / "wide", [(commit_info("CREATE TABLE"), PROTOCOL, metadata(columns)), (commit_info("WRITE"), *files)]
    )
    write_log(root / "long", [_commit(version) for version in range(LONG)])
    write_log(root / "one", [(commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"}), add("a.parquet", 3))])
    write_log(root / "nested", [(commit_info("WRITE"), PROTOCOL, _nested(), add("a.parquet", 3))])
    hostile_tables.gap_table(root / "gap")
    hostile_tables.hostile_table(root / "hostile")
    hostile_tables.broken_table(root / "broken")
    hostile_tables.future_table(root / "future")
    hostile_tables.empty_table(root / "empty")


def _commit(version: int) -> tuple[Line, ...]:
    if version == 0:
        return commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long"})
    made = add(f"{version}.parquet", version % 97 + 1, bounds={"id": (version, version + 99)})
    if version % 7:
        return commit_info("WRITE", user_name=f"writer {version % 3}"), made
    return commit_info("OPTIMIZE"), made, remove(f"{version - 1}.parquet")


def _nested() -> Metadata:
    point = {"type": "struct", "fields": [_field("x", "double"), _field("y", "double")]}
    path = {"type": "array", "elementType": point, "containsNull": True}
    tags = {"type": "map", "keyType": "string", "valueType": path, "valueContainsNull": True}
    fields = [_field("id", "long"), _field("at", point), _field("path", path), _field("tags", tags)]
    return Metadata(
        id=METADATA.id, schema_string=json.dumps({"type": "struct", "fields": fields}), partition_columns=()
    )


def _field(name: str, kind: object) -> dict[str, object]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}
