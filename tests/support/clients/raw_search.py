"""A search of a folder by plain PyArrow: every Parquet file is read whole, and its physical values are compared."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from explorer import Table
from explorer.auditing.erasure import Erasure
from explorer.core.protocol.schema.data_types import PrimitiveType, StructType, format_column
from explorer.core.protocol.schema.nested_types import walk

_EASY = {"byte", "short", "integer", "long", "string", "date"}


def raw_values(root: Path, path: Sequence[str]) -> dict[str, list[Any]]:
    """The values of a physical column by file, the log's files left out, and files without the column."""
    found = {}
    for file in sorted(root.rglob("*.parquet")):
        key = file.relative_to(root).as_posix()
        if key.startswith("_delta_log/"):
            continue
        rows = pq.ParquetFile(file).read().to_pylist()
        if path[0] in pq.read_schema(file).names:
            found[key] = [_inside(row, path) for row in rows]
    return found


def raw_counts(root: Path, paths: Iterable[Sequence[str]], value: object) -> dict[str, int]:
    """Rows of each file that have a value in one of some physical columns; files without such a row are left out."""
    found = [raw_values(root, path) for path in paths]
    counts = {}
    for key in {key for values in found for key in values}:
        columns = [values[key] for values in found if key in values]
        counts[key] = sum(value in row for row in zip(*columns, strict=True))
    return {key: count for key, count in counts.items() if count}


def equalities(table: Table) -> Iterator[tuple[str, set[tuple[str, ...]], object]]:
    """For each column of easy types that some file holds, a predicate that some row meets, its physical columns in all
    versions, and the value."""
    snapshot = table.snapshot()
    root = Path(table.location.removeprefix("file://"))
    for path, field in walk(snapshot.schema):
        if not isinstance(field.type, PrimitiveType) or field.type.name not in _EASY:
            continue
        if path[0] in snapshot.partition_columns or {"element", "key", "value"} & set(path):
            continue
        physical = _physical_columns(root, path)
        kind = str if field.type.name == "string" else date if field.type.name == "date" else int
        values = [each for name in sorted(physical) for found in raw_values(root, name).values() for each in found]
        value = next((each for each in values if isinstance(each, kind) and _is_plain(each)), None)
        if value is not None:
            asked = _padded(value, snapshot.schema, path) if isinstance(value, str) else value
            yield f"{format_column(path)} = {_literal(asked)}", physical, value


def _padded(value: str, schema: StructType, path: tuple[str, ...]) -> str:
    """A stored value as it is compared: CHAR in a struct is read with its spaces, and Spark adds none to a literal."""
    declared = next(field for field in schema.fields if field.name == path[0]).metadata
    length = re.search(rf"\b{path[-1]}:char\((\d+)\)", str(declared.get("__CHAR_VARCHAR_TYPE_STRING", "")))
    return value if length is None else value.ljust(int(length[1]))


def _physical_columns(root: Path, path: tuple[str, ...]) -> set[tuple[str, ...]]:
    """What a column is called in files by any schema of the log, mapped or not."""
    found = {path}
    for commit in sorted((root / "_delta_log").glob("*.json")):
        for line in commit.read_text().splitlines():
            schema = json.loads(line).get("metaData", {}).get("schemaString") if line.strip() else None
            named = _physical(json.loads(schema), path) if schema else None
            found |= {named} if named else set()
    return found


def _physical(kind: Any, path: tuple[str, ...]) -> tuple[str, ...] | None:
    fields = kind["fields"] if isinstance(kind, dict) and kind.get("type") == "struct" else []
    field = next((each for each in fields if each["name"] == path[0]), None)
    if field is None:
        return None
    name = field["metadata"].get("delta.columnMapping.physicalName", path[0])
    rest = _physical(field["type"], path[1:]) if len(path) > 1 else ()
    return None if rest is None else (name, *rest)


def proven(found: Erasure) -> dict[str, int]:
    """Rows by file, of all states together."""
    counts: dict[str, int] = {}
    for place in found.places:
        counts[place.path] = counts.get(place.path, 0) + place.rows
    return counts


def check_proof(found: Erasure, raw: Mapping[str, int]) -> None:
    """Nothing that the raw search finds is missed, and nothing is claimed that it does not find."""
    counts = proven(found)
    open_ = {each.path for each in found.not_answered}
    missed = {path: rows for path, rows in raw.items() if counts.get(path) != rows and path not in open_}
    assert not missed, (found.where, missed, counts)
    claimed = {path: rows for path, rows in counts.items() if raw.get(path) != rows}
    assert not claimed, (found.where, claimed)
    assert len({(place.path, place.state) for place in found.places}) == len(found.places)


def _inside(row: Any, path: Sequence[str]) -> Any:
    for name in path:
        row = None if row is None else row.get(name)
    return row


def _is_plain(value: object) -> bool:
    return isinstance(value, (int, date)) or (isinstance(value, str) and value.isascii() and value.isalnum())


def _literal(value: Any) -> str:
    match value:
        case str():
            return f"'{value}'"
        case date():
            return f"DATE '{value.isoformat()}'"
    return str(value)
